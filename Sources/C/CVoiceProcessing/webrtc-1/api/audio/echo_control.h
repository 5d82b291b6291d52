#include <webrtc-audio-processing-1/api/audio/echo_control.h>
