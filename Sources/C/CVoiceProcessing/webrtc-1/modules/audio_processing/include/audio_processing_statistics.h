#include <webrtc-audio-processing-1/modules/audio_processing/include/audio_processing_statistics.h>
