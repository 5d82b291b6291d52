#include <webrtc-audio-processing-1/modules/audio_processing/include/config.h>
