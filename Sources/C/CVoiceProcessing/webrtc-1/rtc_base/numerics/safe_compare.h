#include <webrtc-audio-processing-1/rtc_base/numerics/safe_compare.h>
