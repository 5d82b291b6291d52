#include <webrtc-audio-processing-1/rtc_base/deprecation.h>
