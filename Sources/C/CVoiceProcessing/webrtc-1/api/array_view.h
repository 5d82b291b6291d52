#include <webrtc-audio-processing-1/api/array_view.h>
