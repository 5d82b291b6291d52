package import AudioDSP
import CBTCall
import Glibc

/// Source of audio that the user hears beside the calls.
package enum PlaybackSource: Sendable {
    case tone(ToneSpecification)
    /// Samples at ``AudioEngine/busRate``; repeated from the beginning if `loops`.
    case samples([Int16], loops: Bool)
    /// An application's socket, as for `AudioEngine.attachInjection`. The engine owns the descriptor.
    case application(descriptor: Int32, rate: Int, layout: SampleLayout, isStream: Bool)
    /// A program's stream on the ALSA PCM; it clocks itself while it is heard nowhere.
    case stream(PCMMemory)
}

/// Volume, priority and ducking of a playback.
package struct PlaybackManner: Hashable, Sendable {
    /// Linear, 0 is silence.
    package var volume: Float = 1
    /// 0 and higher; at the same target, a higher priority silences lower ones.
    package var priority = 5
    /// Mixed with others of its priority; if false, it silences the mixable ones.
    package var isMixable = true
    /// Gain of the far end of the calls meanwhile; 1 leaves it unchanged.
    package var duckGain: Float = 1
    /// Ends as soon as the calls have something to say.
    package var yieldsToCalls = false
    /// Gain on a terminal that plays alone while calls are routed elsewhere.
    package var gainBesideCalls: Float = 1

    package init() {}

    var rank: Int { max(priority, 0) * 2 + (isMixable ? 0 : 1) }
}

/// Where a playback is heard.
package enum PlaybackTarget: BitwiseCopyable, Hashable, Sendable {
    case nowhere
    /// The terminal to which calls are routed.
    case routed
    /// A terminal added with `isAlone`.
    case terminal(UInt32)

    var number: Int64 {
        @_noLocks get {
            switch self {
            case .nowhere: PlaybackPort.nowhere
            case .routed: PlaybackPort.routed
            case .terminal(let id): Int64(id)
            }
        }
    }
}

extension AudioEngine {
    /// Sample rate of ``PlaybackSource/samples(_:loops:)`` in Hz: the lowest of the bus.
    package var busRate: Int { configuration.busRate }

    /// Plays a source to the user beside the calls; `playbackEnded` follows when it has finished or was ended.
    ///
    /// - Parameter id: not in use by a playback whose `playbackEnded` has not arrived yet.
    package func addPlayback(
        _ id: UInt32, _ source: PlaybackSource, _ manner: PlaybackManner, at target: PlaybackTarget
    ) throws(AudioEngineError) {
        do throws(AudioEngineError) {
            if case .application(_, let rate, let layout, _) = source {
                try check(rate: rate, channels: layout.channels)
            }
            guard playbacks[id] == nil else { throw .duplicate(id) }
            guard playbacks.count < RealtimeThread.maximumPlaybacks else {
                throw .tooMany(limit: RealtimeThread.maximumPlaybacks)
            }
        } catch {
            if case .application(let descriptor, _, _, _) = source { btcall_close_peer(descriptor) }
            throw error
        }
        let port = PlaybackPointer.allocate(capacity: 1)
        port.initialize(
            to: PlaybackPort(
                id: id, content(of: source, id), rank: manner.rank, duckGain: manner.duckGain,
                yieldsToCalls: manner.yieldsToCalls, target: target.number, bus: configuration.bus,
                volume: manner.volume, gainBesideCalls: manner.gainBesideCalls))
        playbacks[id] = port
        guard send(.addPlayback(port)) else {
            playbacks[id] = nil
            free(playback: port)
            throw .commandQueueFull
        }
    }

    private func content(of source: PlaybackSource, _ id: UInt32) -> PlaybackPort.Content {
        let bus = configuration.bus
        switch source {
        case .tone(let specification):
            let generator = UnsafeMutablePointer<ToneGenerator>.allocate(capacity: 1)
            generator.initialize(to: ToneGenerator(specification, bus: bus))
            return .tone(generator)
        case .samples(let given, let loops):
            let block = UnsafeMutablePointer<Int16>.allocate(capacity: max(given.count, 1))
            block.initialize(repeating: 0, count: max(given.count, 1))
            for (index, sample) in given.enumerated() { block[index] = sample }
            return .samples(block, count: given.count, loops: loops)
        case .application(let descriptor, let rate, let layout, let isStream):
            let counters = UnsafeMutablePointer<InjectionCounters>.allocate(capacity: 1)
            counters.initialize(to: InjectionCounters())
            let injection = InjectionPointer.allocate(capacity: 1)
            injection.initialize(
                to: InjectionPort(
                    id: id, descriptor: descriptor, rate: rate, layout: layout, isStream: isStream, bus: bus,
                    counters: counters))
            return .application(injection)
        case .stream(let memory): return .stream(makePCM(id, memory))
        }
    }

    /// Moves a playback to another target, starting with its next 10 ms.
    package func movePlayback(_ id: UInt32, to target: PlaybackTarget) {
        guard playbacks[id] != nil else { return }
        _ = send(.movePlayback(id, target))
    }

    /// Fades a playback out; `playbackEnded` follows.
    package func endPlayback(_ id: UInt32) {
        guard playbacks[id] != nil else { return }
        _ = send(.endPlayback(id))
    }

    func free(playback: PlaybackPointer) {
        switch playback.pointee.content {
        case .tone(let tone): tone.deinitialize(count: 1).deallocate()
        case .application(let application):
            btcall_close_peer(application.pointee.descriptor)
            application.pointee.counters.deinitialize(count: 1).deallocate()
            application.deinitialize(count: 1).deallocate()
        case .samples(let samples, _, _): samples.deallocate()
        case .stream(let stream): free(pcm: stream)
        }
        playback.deinitialize(count: 1).deallocate()
    }
}
