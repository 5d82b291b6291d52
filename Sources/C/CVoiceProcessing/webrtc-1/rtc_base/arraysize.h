#include <webrtc-audio-processing-1/rtc_base/arraysize.h>
