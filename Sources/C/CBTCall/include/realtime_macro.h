#ifndef BTCALL_REALTIME_MACRO_H
#define BTCALL_REALTIME_MACRO_H

/// Marks a C function that the real-time thread may call: it neither allocates nor locks. Swift's `@_noLocks` checks it.
#if defined(__clang__)
#define BTCALL_REALTIME __attribute__((swift_attr("@_noLocks")))
#else
#define BTCALL_REALTIME
#endif

#endif
