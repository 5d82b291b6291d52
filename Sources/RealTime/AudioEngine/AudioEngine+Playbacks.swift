package import AudioDSP
import CBTCall
import Glibc

/// What the person hears beside the calls.
package enum PlaybackSource: Sendable {
    case tone(ToneSpecification)
    /// Frames at the rate of the bus; from the beginning again when they `loop`.
    case samples([Int16], loops: Bool)
    /// What an application writes, as for `AudioEngine.attachInjection`. The descriptor becomes the engine's.
    case application(descriptor: Int32, rate: Int, layout: SampleLayout, isStream: Bool)
    /// What a program plays on the ALSA PCM; it is its own clock where nobody hears it.
    case stream(PCMMemory)
}

/// How it is heard beside others.
package struct PlaybackManner: Hashable, Sendable {
    /// Linear, 0 is silence.
    package var volume: Float = 1
    /// 0 and more; at the same place a higher one silences lower ones.
    package var priority = 5
    /// Heard together with others of its priority; else it silences those that can be.
    package var isMixable = true
    /// What is left of the far end of the calls meanwhile; 1 leaves it alone.
    package var duckGain: Float = 1
    /// Ends as soon as the calls have something to say.
    package var yieldsToCalls = false
    /// What is left of something that is heard on a terminal by itself while calls are routed elsewhere.
    package var gainBesideCalls: Float = 1

    package init() {}

    var rank: Int { max(priority, 0) * 2 + (isMixable ? 0 : 1) }
}

/// Where it is heard.
package enum PlaybackTarget: BitwiseCopyable, Hashable, Sendable {
    case nowhere
    /// Where the calls are routed.
    case routed
    /// A terminal that was added to play alone.
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
    /// Frames per second of the internal mix.
    package var busRate: Int { configuration.busRate }

    /// Lets the person hear something beside the calls; `playbackEnded` says when it is over, or was ended.
    ///
    /// - Parameter id: not that of another playback whose `playbackEnded` has not come.
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
                yieldsToCalls: manner.yieldsToCalls, target: target.number, busRate: configuration.busRate,
                volume: manner.volume, gainBesideCalls: manner.gainBesideCalls))
        playbacks[id] = port
        guard send(.addPlayback(port)) else {
            playbacks[id] = nil
            free(playback: port)
            throw .commandQueueFull
        }
    }

    private func content(of source: PlaybackSource, _ id: UInt32) -> PlaybackPort.Content {
        let busRate = configuration.busRate
        switch source {
        case .tone(let specification):
            let generator = UnsafeMutablePointer<ToneGenerator>.allocate(capacity: 1)
            generator.initialize(to: ToneGenerator(specification, rate: busRate))
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
                    id: id, descriptor: descriptor, rate: rate, layout: layout, isStream: isStream, busRate: busRate,
                    counters: counters))
            return .application(injection)
        case .stream(let memory): return .stream(makePCM(id, memory))
        }
    }

    /// Has it heard at another place from its next 10 ms on.
    package func movePlayback(_ id: UInt32, to target: PlaybackTarget) {
        guard playbacks[id] != nil else { return }
        _ = send(.movePlayback(id, target))
    }

    /// Fades it out; `playbackEnded` comes after that.
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
