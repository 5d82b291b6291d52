#include <webrtc-audio-processing-1/api/audio/echo_canceller3_config.h>
