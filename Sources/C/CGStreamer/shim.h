#include <gst/app/app.h>
#include <gst/gst.h>
#include <gst/video/video.h>
