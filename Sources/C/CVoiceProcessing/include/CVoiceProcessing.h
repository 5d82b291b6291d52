/// The echo canceller and the noise suppressor of webrtc-audio-processing, for the real-time thread.
///
/// webrtc-0.c uses version 0.3 of the library, webrtc-1.cc version 1.x; Package.swift compiles the one that is installed. Both
/// process 10 ms at a time, and neither waits for another thread. The top of each file states its other guarantees.
///
/// Empty without the package trait `WebRTC`.
#ifndef BTCALL_VOICE_PROCESSING_H
#define BTCALL_VOICE_PROCESSING_H

#if defined(__clang__)
#define BTCALL_REALTIME_VOICE __attribute__((swift_attr("@_noLocks")))
#else
#define BTCALL_REALTIME_VOICE
#endif

#ifdef __cplusplus
extern "C" {
#endif

/// An echo canceller and a noise suppressor for one microphone at 8 or 16 kHz. Samples are in the range of 16 bits.
struct btcall_webrtc;

/// Name and version of the library that this program was built for.
const char *_Nonnull btcall_webrtc_library(void);

/// Delay of `btcall_webrtc_cancel` in frames, at 8 or 16 kHz.
int btcall_webrtc_echo_delay(int rate);

/// Delay of `btcall_webrtc_suppress` in frames, at 8 or 16 kHz.
int btcall_webrtc_noise_delay(int rate);

/// Creates both, or returns NULL: no memory, unsupported rate, or a library that does not match the declarations.
struct btcall_webrtc *_Nullable btcall_webrtc_create(int rate);

/// Frees both.
void btcall_webrtc_destroy(struct btcall_webrtc *_Nonnull voice);

/// Removes the echo of `far` from `near`: 10 ms each, the loudspeaker's input and the microphone's output, whose echo is 5
/// to 120 ms late. `output` may not be `near`.
BTCALL_REALTIME_VOICE void btcall_webrtc_cancel(
    struct btcall_webrtc *_Nonnull voice, const float *_Nonnull far, const float *_Nonnull near,
    float *_Nonnull output);

/// Forgets the echo path.
BTCALL_REALTIME_VOICE void btcall_webrtc_reset_echo(struct btcall_webrtc *_Nonnull voice);

/// Removes noise from `input`, the echo canceller's output for `near`, 10 ms of the microphone. Version 0.3 learns the noise
/// from `near`, version 1.x from `input`. `output` may not be `input`.
BTCALL_REALTIME_VOICE void btcall_webrtc_suppress(
    struct btcall_webrtc *_Nonnull voice, const float *_Nonnull near, const float *_Nonnull input,
    float *_Nonnull output);

/// Forgets the noise.
BTCALL_REALTIME_VOICE void btcall_webrtc_reset_noise(struct btcall_webrtc *_Nonnull voice);

#ifdef __cplusplus
}
#endif

#endif
