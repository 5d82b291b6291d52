#include <webrtc-audio-processing-1/rtc_base/constructor_magic.h>
