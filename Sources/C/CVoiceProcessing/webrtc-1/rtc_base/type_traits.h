#include <webrtc-audio-processing-1/rtc_base/type_traits.h>
