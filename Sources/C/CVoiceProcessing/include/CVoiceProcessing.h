/// The echo canceller and the noise suppressor of webrtc-audio-processing 0.3, for the real-time thread.
///
/// The interface in the library's header, `webrtc::AudioProcessing`, takes three mutexes for each 10 ms. The library also
/// exports its parts: C functions, each on a state of its own, which neither lock nor allocate once they are set up. Those
/// are called here. They have no header, so webrtc.c declares them as of version 0.3 (libwebrtc_audio_processing.so.1).
///
/// Empty without the package trait `WebRTC`.
#ifndef BTCALL_VOICE_PROCESSING_H
#define BTCALL_VOICE_PROCESSING_H

#if defined(__clang__)
#define BTCALL_REALTIME_VOICE __attribute__((swift_attr("@_noLocks")))
#else
#define BTCALL_REALTIME_VOICE
#endif

/// An echo canceller and a noise suppressor for one microphone at 8 or 16 kHz. Samples are in the range of 16 bits.
struct btcall_webrtc;

/// Creates both, or returns NULL: no memory, unsupported rate, or a library that does not match the declarations.
struct btcall_webrtc *_Nullable btcall_webrtc_create(int rate);

/// Frees both.
void btcall_webrtc_destroy(struct btcall_webrtc *_Nonnull voice);

/// Removes the echo of `far` from `near`: 10 ms each, the loudspeaker's input and the microphone's output, whose echo is 5
/// to 120 ms late. `output` is 7 ms late (14 ms at 8 kHz) and may not be `near`.
BTCALL_REALTIME_VOICE void btcall_webrtc_cancel(
    struct btcall_webrtc *_Nonnull voice, const float *_Nonnull far, const float *_Nonnull near,
    float *_Nonnull output);

/// Forgets the echo path.
BTCALL_REALTIME_VOICE void btcall_webrtc_reset_echo(struct btcall_webrtc *_Nonnull voice);

/// Learns the noise from `near`, 10 ms of the microphone, and removes it from `input`, the echo canceller's output. `output`
/// is 6 ms later than `input` and may not be it.
BTCALL_REALTIME_VOICE void btcall_webrtc_suppress(
    struct btcall_webrtc *_Nonnull voice, const float *_Nonnull near, const float *_Nonnull input,
    float *_Nonnull output);

/// Forgets the noise.
BTCALL_REALTIME_VOICE void btcall_webrtc_reset_noise(struct btcall_webrtc *_Nonnull voice);

#endif
