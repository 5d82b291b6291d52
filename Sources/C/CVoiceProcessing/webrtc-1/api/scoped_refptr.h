#include <webrtc-audio-processing-1/api/scoped_refptr.h>
