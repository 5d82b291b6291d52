// Small functions for parts of the C library and the kernel's headers that Swift cannot import.
#ifndef BTCALL_CBTCALL_H
#define BTCALL_CBTCALL_H

#if __has_include("control.h")
#include "control.h"
#endif
#if __has_include("board.h")
#include "board.h"
#endif
#if __has_include("realtime.h")
#include "realtime.h"
#endif
#if __has_include("pcm_protocol.h")
#include "pcm_protocol.h"
#endif
#if __has_include("dsp.h")
#include "dsp.h"
#endif

#endif
