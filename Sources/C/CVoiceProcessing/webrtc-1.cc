// webrtc-audio-processing 1.x (Debian 13): echo canceller AEC3 and noise suppressor, through the library's public interface.
//
// The interface costs the real-time thread:
//
// - Locks. `ProcessStream` and `AnalyzeReverseStream` lock mutexes of their instance. An instance belongs to one thread at a time:
//   the one that creates it, then the real-time thread, then the renewing thread that frees it. So no thread waits for a lock.
// - Memory. `Initialize` and `ApplyConfig` allocate, so a stage is not reset: it continues with a fresh instance, and a thread of
//   normal priority replaces the used one. Every 10 s the library builds the names of its statistics, a few dozen strings, which
//   no setting prevents. During the library's real-time calls `operator new` serves them from a pool, and `operator delete` keeps
//   other memory for another thread to free.
// - Messages. The library's log is off unless a program turns it on.
//
// The echo canceller's settings are public (api/audio/echo_canceller3_config.h). The class that takes them is exported, but no
// header declares it, so its constructor is declared here as of version 1.3. A library without that constructor works with its
// standard settings, which leave more echo.
#include "CVoiceProcessing.h"

#ifdef BTCALL_WEBRTC

#if !__has_include(<webrtc-audio-processing-1/modules/audio_processing/include/audio_processing.h>)
#error "webrtc-audio-processing is missing: install libwebrtc-audio-processing-dev and run swift package purge-cache, or build with --disable-default-traits"
#else

#include <webrtc-audio-processing-1/modules/audio_processing/include/audio_processing.h>

#include <pthread.h>
#include <semaphore.h>

#include <atomic>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <new>

using webrtc::AudioProcessing;
using webrtc::EchoCanceller3Config;
using webrtc::EchoControl;

/// `webrtc::EchoCanceller3::EchoCanceller3(const EchoCanceller3Config &, int, size_t, size_t)`.
extern "C" __attribute__((weak)) void btcall_aec3_construct(
    void *canceller, const EchoCanceller3Config &config, int rate, std::size_t far_channels, std::size_t near_channels) __asm__(
    "_ZN6webrtc14EchoCanceller3C1ERKNS_20EchoCanceller3ConfigEimm");

namespace {

// MARK: Memory

/// Memory for the library's allocations in the real-time thread: short strings, each freed before the call returns.
namespace pool {

constexpr std::size_t slotBytes = 128;
constexpr std::size_t slotCount = 64;
alignas(std::max_align_t) char slots[slotCount][slotBytes];
/// One bit a slot.
std::atomic<std::uint64_t> taken { 0 };
/// This thread is in one of the library's real-time calls.
thread_local bool serves = false;

/// NULL if it is too large or no slot is free. The C library then serves it, and the lab's interposer counts it.
[[maybe_unused]] void *take(std::size_t bytes)
{
    if (bytes > slotBytes)
        return nullptr;
    std::uint64_t before = taken.load(std::memory_order_relaxed);
    while (~before != 0) {
        const int slot = __builtin_ctzll(~before);
        if (taken.compare_exchange_weak(before, before | (std::uint64_t { 1 } << slot), std::memory_order_acquire))
            return slots[slot];
    }
    return nullptr;
}

/// Returns false if the memory is not the pool's.
[[maybe_unused]] bool give(void *memory)
{
    const std::uintptr_t offset = reinterpret_cast<std::uintptr_t>(memory) - reinterpret_cast<std::uintptr_t>(slots);
    if (offset >= sizeof slots)
        return false;
    taken.fetch_and(~(std::uint64_t { 1 } << (offset / slotBytes)), std::memory_order_release);
    return true;
}

/// What the library frees in the real-time thread and was not the pool's: two arrays of an instance, 4 s after it began.
struct Late {
    Late *next;
};
std::atomic<Late *> late { nullptr };

[[maybe_unused]] void keep(void *memory)
{
    auto *added = new (memory) Late { late.load(std::memory_order_relaxed) };
    while (!late.compare_exchange_weak(added->next, added, std::memory_order_release, std::memory_order_relaxed)) {}
}

/// Frees what was kept; not in the real-time thread.
void free_late()
{
    Late *kept = late.exchange(nullptr, std::memory_order_acquire);
    while (kept) {
        Late *next = kept->next;
        std::free(kept);
        kept = next;
    }
}

/// Serves this thread from the pool for the length of one call.
struct Use {
    Use() { serves = true; }
    ~Use() { serves = false; }
};

} // namespace pool

// MARK: Stages

/// The library's samples are in the range ±1.
constexpr float fullScale = 32768;
/// Delay of the echo in milliseconds until the library has measured it: VoiceProcessor's delay line absorbs what exceeds it.
constexpr int statedDelay = 40;

/// Room for an `EchoCanceller3`, which has 1032 bytes in version 1.3. The library frees it by that size, which the address sanitizer
/// refuses: there the standard settings are used.
constexpr std::size_t cancellerBytes = 4096;
constexpr bool hasOwnSettings = !__has_feature(address_sanitizer);

/// Settings that remove as much echo as version 0.3 does, measured with `btcall-lab bench voice` and four pairs of voices.
EchoCanceller3Config settings()
{
    EchoCanceller3Config config;
    // Suppression follows the microphone at once. Averaged over the standard four blocks, it lets echo pass at each beginning of a
    // word.
    config.suppressor.nearend_average_blocks = 1;
    // Decay of the reverberation within a block of 4 ms. Negative: the library measures it, and begins with this value. The standard
    // 0.83 is not measured and suits a small room. Beginning with a long one removes the echo that a filter does not know yet.
    config.ep_strength.default_len = -0.99F;
    // First gain after silence. It doubles in each block, so that the standard 0.00001 cuts 70 ms off the near end's beginnings.
    config.suppressor.floor_first_increase = 0.05F;
    // For that many seconds of far end speech the filter adapts quickly, and nothing is taken for dominant near end.
    config.filter.initial_state_seconds = 5;
    config.suppressor.dominant_nearend_detection.use_during_initial_phase = false;
    return config;
}

class CancellerFactory : public webrtc::EchoControlFactory {
public:
    std::unique_ptr<EchoControl> Create(int rate, int far_channels, int near_channels) override
    {
        void *canceller = operator new(cancellerBytes);
        btcall_aec3_construct(
            canceller, settings(), rate, static_cast<std::size_t>(far_channels), static_cast<std::size_t>(near_channels));
        return std::unique_ptr<EchoControl>(static_cast<EchoControl *>(canceller));
    }
};

enum class Kind { echo, noise };

/// Creates an instance that does this and nothing else. Allocates.
AudioProcessing *make(Kind kind, int rate)
{
    webrtc::AudioProcessingBuilder builder;
    if (hasOwnSettings && kind == Kind::echo && btcall_aec3_construct)
        builder.SetEchoControlFactory(std::make_unique<CancellerFactory>());
    AudioProcessing *made = builder.Create();
    if (!made)
        return nullptr;
    made->AddRef();
    AudioProcessing::Config config;
    config.echo_canceller.enabled = kind == Kind::echo;
    // VoiceProcessor has a high pass of its own, which can be switched off.
    config.echo_canceller.enforce_high_pass_filtering = false;
    config.noise_suppression.enabled = kind == Kind::noise;
    config.noise_suppression.level = AudioProcessing::Config::NoiseSuppression::kModerate;
    // Statistics that nobody reads.
    config.residual_echo_detector.enabled = false;
    made->ApplyConfig(config);
    // Otherwise the first call would do it, in the real-time thread.
    const webrtc::StreamConfig stream(rate, 1);
    if (made->Initialize(webrtc::ProcessingConfig { { stream, stream, stream, stream } }) != AudioProcessing::kNoError) {
        made->Release();
        return nullptr;
    }
    if (kind == Kind::echo)
        made->set_stream_delay_ms(statedDelay);
    return made;
}

/// The instance in use and a fresh one, which replaces it when the stage has to forget.
struct Stage {
    Kind kind;
    /// Belongs to the real-time thread.
    AudioProcessing *active = nullptr;
    std::atomic<AudioProcessing *> fresh { nullptr };
    std::atomic<AudioProcessing *> used { nullptr };

    explicit Stage(Kind kind) : kind(kind) {}

    bool set_up(int rate)
    {
        active = make(kind, rate);
        fresh = make(kind, rate);
        return active && fresh.load();
    }

    void free()
    {
        for (AudioProcessing *instance : { active, fresh.load(), used.load() })
            if (instance)
                instance->Release();
    }

    /// Real-time thread: continues with the fresh instance and returns true if there is work for `renew`. Without a fresh one the
    /// present instance stays: it replaced another one some milliseconds ago.
    bool forget()
    {
        AudioProcessing *next = fresh.exchange(nullptr, std::memory_order_acquire);
        if (!next)
            return false;
        // `used` is empty: `renew` takes the old instance before it makes a fresh one.
        used.store(active, std::memory_order_release);
        active = next;
        return true;
    }

    /// Renewing thread: frees the used instance and makes a fresh one.
    void renew(int rate)
    {
        AudioProcessing *old = used.exchange(nullptr, std::memory_order_acquire);
        if (!old)
            return;
        old->Release();
        pool::free_late();
        fresh.store(make(kind, rate), std::memory_order_release);
    }
};

} // namespace

struct btcall_webrtc {
    int rate;
    webrtc::StreamConfig stream;
    Stage echo { Kind::echo };
    Stage noise { Kind::noise };
    /// 10 ms in the range of the library.
    float far[160] = {};
    float near[160] = {};

    pthread_t renewer {};
    bool renews = false;
    std::atomic<bool> ends { false };
    /// Posted for each instance to replace, and to end the thread.
    sem_t work;

    explicit btcall_webrtc(int rate) : rate(rate), stream(rate, 1) { sem_init(&work, 0, 0); }
    ~btcall_webrtc() { sem_destroy(&work); }

    void scale(const float *samples, float *result) const
    {
        for (std::size_t index = 0; index < stream.num_frames(); index++)
            result[index] = samples[index] / fullScale;
    }

    /// Passes `near` through an instance into `output`, unchanged if the library returns an error.
    void process(AudioProcessing *instance, float *output)
    {
        float *channel = near;
        (void)instance->ProcessStream(&channel, stream, stream, &channel);
        for (std::size_t index = 0; index < stream.num_frames(); index++)
            output[index] = near[index] * fullScale;
    }

    static void *renew(void *context)
    {
        auto *voice = static_cast<btcall_webrtc *>(context);
        for (;;) {
            while (sem_wait(&voice->work) != 0 && errno == EINTR) {}
            if (voice->ends.load(std::memory_order_acquire))
                return nullptr;
            voice->echo.renew(voice->rate);
            voice->noise.renew(voice->rate);
        }
    }

    bool start()
    {
        pthread_attr_t attributes;
        if (pthread_attr_init(&attributes) != 0)
            return false;
        pthread_attr_setstacksize(&attributes, 256 * 1024);
        renews = pthread_create(&renewer, &attributes, renew, this) == 0;
        pthread_attr_destroy(&attributes);
        if (renews)
            pthread_setname_np(renewer, "btcall-voice");
        return renews;
    }
};

// MARK: Interface

const char *btcall_webrtc_library(void)
{
    return "webrtc-audio-processing 1";
}

// VoiceDelayTests measure both delays. The library works at 16 kHz and converts 8 kHz there and back, in each stage.

int btcall_webrtc_echo_delay(int rate)
{
    return rate == 8000 ? 88 : 128;
}

int btcall_webrtc_noise_delay(int rate)
{
    return rate == 8000 ? 72 : 96;
}

struct btcall_webrtc *btcall_webrtc_create(int rate)
{
    if (rate != 8000 && rate != 16000)
        return nullptr;
    auto *voice = new (std::nothrow) btcall_webrtc(rate);
    if (!voice)
        return nullptr;
    if (!voice->echo.set_up(rate) || !voice->noise.set_up(rate) || !voice->start()) {
        btcall_webrtc_destroy(voice);
        return nullptr;
    }
    return voice;
}

void btcall_webrtc_destroy(struct btcall_webrtc *voice)
{
    if (voice->renews) {
        voice->ends.store(true, std::memory_order_release);
        sem_post(&voice->work);
        pthread_join(voice->renewer, nullptr);
    }
    voice->echo.free();
    voice->noise.free();
    pool::free_late();
    delete voice;
}

void btcall_webrtc_cancel(struct btcall_webrtc *voice, const float *far, const float *near, float *output)
{
    const pool::Use use;
    voice->scale(far, voice->far);
    const float *channel = voice->far;
    (void)voice->echo.active->AnalyzeReverseStream(&channel, voice->stream);
    voice->scale(near, voice->near);
    voice->process(voice->echo.active, output);
}

void btcall_webrtc_reset_echo(struct btcall_webrtc *voice)
{
    if (voice->echo.forget())
        sem_post(&voice->work);
}

void btcall_webrtc_suppress(struct btcall_webrtc *voice, const float *near, const float *input, float *output)
{
    const pool::Use use;
    (void)near;
    voice->scale(input, voice->near);
    voice->process(voice->noise.active, output);
}

void btcall_webrtc_reset_noise(struct btcall_webrtc *voice)
{
    if (voice->noise.forget())
        sem_post(&voice->work);
}

// MARK: Replaced allocation functions

// Not under a sanitizer, which brings its own and keeps no real-time promise.
#if !__has_feature(address_sanitizer) && !__has_feature(thread_sanitizer)

// Weak: a program that defines others keeps those, and the library then allocates in the real-time thread every 10 s.
__attribute__((weak)) void *operator new(std::size_t bytes)
{
    if (pool::serves)
        if (void *memory = pool::take(bytes))
            return memory;
    void *memory = std::malloc(bytes ? bytes : 1);
    if (!memory)
        throw std::bad_alloc();
    return memory;
}

__attribute__((weak)) void operator delete(void *memory) noexcept
{
    if (!memory || pool::give(memory))
        return;
    if (pool::serves)
        pool::keep(memory);
    else
        std::free(memory);
}

__attribute__((weak)) void operator delete(void *memory, std::size_t) noexcept
{
    operator delete(memory);
}

#endif

#endif
#endif
