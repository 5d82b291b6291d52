// webrtc-audio-processing 0.3 (Debian 12). The library's public interface, `webrtc::AudioProcessing`, takes three mutexes for
// each 10 ms. The C functions behind it are exported, too: each works on a state of its own, and none of them locks or allocates
// once that is set up. They have no header, so they are declared here as of version 0.3 (libwebrtc_audio_processing.so.1).
#include "CVoiceProcessing.h"

#ifdef BTCALL_WEBRTC

#if !__has_include(<webrtc_audio_processing/webrtc/modules/audio_processing/include/audio_processing.h>)
#error "webrtc-audio-processing is missing: install libwebrtc-audio-processing-dev and run swift package purge-cache, or build with --disable-default-traits"
#endif

#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

// MARK: The library

struct echo_settings {
    int16_t suppression;
    int16_t compensates_skew;
    int16_t measures;
    int logs_delay;
};

void *WebRtcAec_Create(void);
void WebRtcAec_Free(void *echo);
int32_t WebRtcAec_Init(void *echo, int32_t rate, int32_t card_rate);
void *WebRtcAec_aec_core(void *echo);
void WebRtcAec_enable_extended_filter(void *core, int on);
void WebRtcAec_enable_delay_agnostic(void *core, int on);
int WebRtcAec_MoveFarReadPtr(void *core, int partitions);
int WebRtcAec_set_config(void *echo, struct echo_settings settings);
int32_t WebRtcAec_BufferFarend(void *echo, const float *far, size_t frames);
int32_t WebRtcAec_Process(
    void *echo, const float *const *near, size_t bands, float *const *output, size_t frames, int16_t delay, int32_t skew);

void *WebRtcNs_Create(void);
void WebRtcNs_Free(void *noise);
int WebRtcNs_Init(void *noise, uint32_t rate);
int WebRtcNs_set_policy(void *noise, int policy);
void WebRtcNs_Analyze(void *noise, const float *near);
void WebRtcNs_Process(void *noise, const float *const *input, size_t bands, float *const *output);

// MARK: Ours

enum {
    /// The lowest of three levels: the others remove more of the near end in double talk without gaining anything over noise
    /// suppression.
    SUPPRESSION = 0,
    /// 12 dB; levels are 0 to 3.
    NOISE_POLICY = 1,
    /// In ms: the lowest delay that the library accepts. Our own delay line takes off any larger delay.
    STATED_DELAY = 20,
};

struct btcall_webrtc {
    void *echo;
    void *noise;
    int rate;
    size_t frames;
    /// Whether the echo canceller has not placed its far end yet.
    int is_new;
};

static int set_up_echo(struct btcall_webrtc *voice)
{
    if (WebRtcAec_Init(voice->echo, voice->rate, 48000) != 0)
        return -1;
    void *core = WebRtcAec_aec_core(voice->echo);
    if (!core)
        return -1;
    WebRtcAec_enable_extended_filter(core, 1);
    WebRtcAec_enable_delay_agnostic(core, 1);
    voice->is_new = 1;
    return WebRtcAec_set_config(voice->echo, (struct echo_settings) { .suppression = SUPPRESSION });
}

static int set_up_noise(struct btcall_webrtc *voice)
{
    return WebRtcNs_Init(voice->noise, (uint32_t)voice->rate) | WebRtcNs_set_policy(voice->noise, NOISE_POLICY);
}

const char *btcall_webrtc_library(void)
{
    return "webrtc-audio-processing 0.3";
}

int btcall_webrtc_echo_delay(int rate)
{
    // Blocks of 64 and their overlap.
    (void)rate;
    return 112;
}

int btcall_webrtc_noise_delay(int rate)
{
    // The overlap of windows of 256 (128).
    return rate == 8000 ? 48 : 96;
}

struct btcall_webrtc *btcall_webrtc_create(int rate)
{
    if (rate != 8000 && rate != 16000)
        return NULL;
    struct btcall_webrtc *voice = calloc(1, sizeof *voice);
    if (!voice)
        return NULL;
    voice->rate = rate;
    voice->frames = (size_t)rate / 100;
    voice->echo = WebRtcAec_Create();
    voice->noise = WebRtcNs_Create();
    if (!voice->echo || !voice->noise || set_up_echo(voice) || set_up_noise(voice)) {
        btcall_webrtc_destroy(voice);
        return NULL;
    }
    return voice;
}

void btcall_webrtc_destroy(struct btcall_webrtc *voice)
{
    if (voice->echo)
        WebRtcAec_Free(voice->echo);
    if (voice->noise)
        WebRtcNs_Free(voice->noise);
    free(voice);
}

void btcall_webrtc_cancel(struct btcall_webrtc *voice, const float *far, const float *near, float *output)
{
    WebRtcAec_BufferFarend(voice->echo, far, voice->frames);
    WebRtcAec_Process(voice->echo, &near, 1, &output, voice->frames, STATED_DELAY, 0);
    if (voice->is_new) {
        // It has placed the far end 25 ms back, where an earlier echo would precede its cause. Two or three partitions of 64
        // frames later, it finds echoes from 5 ms on.
        WebRtcAec_MoveFarReadPtr(WebRtcAec_aec_core(voice->echo), voice->rate == 8000 ? 2 : 3);
        voice->is_new = 0;
    }
}

void btcall_webrtc_reset_echo(struct btcall_webrtc *voice)
{
    // Cannot fail: the same calls succeeded at creation.
    (void)set_up_echo(voice);
}

void btcall_webrtc_suppress(struct btcall_webrtc *voice, const float *near, const float *input, float *output)
{
    WebRtcNs_Analyze(voice->noise, near);
    WebRtcNs_Process(voice->noise, &input, 1, &output);
}

void btcall_webrtc_reset_noise(struct btcall_webrtc *voice)
{
    (void)set_up_noise(voice);
}

#endif
