#include <webrtc-audio-processing-1/rtc_base/checks.h>
