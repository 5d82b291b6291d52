#include <webrtc-audio-processing-1/rtc_base/ref_count.h>
