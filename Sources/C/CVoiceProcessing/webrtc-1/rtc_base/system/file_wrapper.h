#include <webrtc-audio-processing-1/rtc_base/system/file_wrapper.h>
