#include <webrtc-audio-processing-1/rtc_base/system/inline.h>
