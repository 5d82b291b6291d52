import AudioDSP
import BTCallTrials
import CALSA
import CBTCall
import Foundation
import RealTimeStorage
import Testing

@testable import AudioEngine

/// The thread's own code on simulated cards, in simulated time: one call whose far end speaks, and devices whose microphones
/// hear their loudspeakers in a room. It is independent of the machine's speed, so that two benches with the same input give
/// the same samples.
final class TickBench {
    static let rate = 16_000
    static let tickFrames = 160

    /// A sound card in a room.
    final class Device {
        let id: UInt32
        let terminal: TerminalPointer
        fileprivate let playback: SimulatedCard
        fileprivate let capture: SimulatedCard
        /// Impulse response of the room, last first.
        private let response: [Float]
        /// Audio written to the card since the start, preceded by as much silence as the room's response.
        private var played: [Float]
        private var loudUntil = 0
        /// The loudspeaker's echo alone, for each captured frame.
        private(set) var echo: [Float] = []
        private let near: (Int) -> Int16
        private var random: UInt32 = 1

        var xruns: Int { playback.xruns + capture.xruns }

        fileprivate init(
            _ id: UInt32, _ room: Room, queueMilliseconds: Int, near: @escaping (Int) -> Int16
        ) throws {
            self.id = id
            self.near = near
            playback = try SimulatedCard(SND_PCM_STREAM_PLAYBACK, rate: rate, bufferMilliseconds: 400)
            capture = try SimulatedCard(SND_PCM_STREAM_CAPTURE, rate: rate, bufferMilliseconds: 400)
            // Later reflections are quiet, and expensive to compute.
            let heard = room.response(rate: rate).prefix(rate / 8)
            // 9 dB below the playback.
            let factor = 0.355 / heard.reduce(Float(0)) { $0 + $1 * $1 }.squareRoot()
            response = heard.reversed().map { $0 * factor }
            played = [Float](repeating: 0, count: response.count)
            terminal = makeTerminal(id, playback, capture, queueMilliseconds: queueMilliseconds)
            playback.onPlayed = { [unowned self] samples, count in
                if playback.moved == 0 {
                    played = [Float](repeating: 0, count: response.count)
                    loudUntil = 0
                }
                let block = samples.assumingMemoryBound(to: Int16.self)
                for index in 0..<count {
                    // Until then some of it is in the air.
                    if block[index] != 0 { loudUntil = played.count }
                    played.append(Float(block[index]))
                }
            }
            capture.onCapture = { [unowned self] samples, count in
                record(samples.assumingMemoryBound(to: Int16.self), count)
            }
        }

        private func record(_ samples: UnsafeMutablePointer<Int16>, _ count: Int) {
            let start = frames(capture.startedAt)
            let offset = start - frames(playback.startedAt)
            for index in 0..<count {
                let frame = capture.moved + index
                let sound = hear(offset + frame)
                echo.append(sound)
                random = random &* 1_664_525 &+ 1_013_904_223
                let noise = Float(random >> 16) / 65_536 * 34.6 - 17.3
                samples[index] = Int16(max(-32_768, min(32_767, sound + Float(near(start + frame)) + noise)))
            }
        }

        /// The loudspeaker's part at the microphone while this frame of the playback is played.
        private func hear(_ frame: Int) -> Float {
            guard frame >= 0, frame < loudUntil, frame + response.count < played.count else { return 0 }
            return played.withUnsafeBufferPointer { played in
                guard let start = played.baseAddress, let room = response.withUnsafeBufferPointer({ $0.baseAddress })
                else { return 0 }
                return btcall_inner_product(room, start + frame + 1, response.count)
            }
        }

        private func frames(_ time: Int64?) -> Int { Int((time ?? 0) * Int64(rate) / 1_000_000_000) }
    }

    let thread: UnstartedThread
    private let port: CallPointer
    private let provider: Int32
    private let far: (Int) -> Int16
    private var farPosition = 0
    private var devices: [Device] = []
    private(set) var time: Int64 = 1_000_000_000
    /// The far end's audio.
    private(set) var uplink: [Int16] = []
    private(set) var reported: [Event] = []
    private(set) var ticks = 0

    /// - Parameter far: the far end's audio, by frame.
    init(far: @escaping (Int) -> Int16) {
        self.far = far
        thread = UnstartedThread(now: time)
        thread.state.pointee.lastTick = time
        let ends = packetSocketPair()
        provider = ends.theirs
        let callCounters = UnsafeMutablePointer<CallCounters>.allocate(capacity: 1)
        callCounters.initialize(to: CallCounters())
        port = .allocate(capacity: 1)
        port.initialize(
            to: CallPort(
                id: 1, descriptor: ends.ours, rate: Self.rate, layout: SampleLayout(), bus: BusRates(Self.rate),
                counters: callCounters))
        send(.attachCall(port, isActive: true))
        answer()
    }

    deinit {
        thread.end { event in
            if case .voiceReturned(let port) = event { port.deinitialize(count: 1).deallocate() }
        }
        close(provider)
        close(port.pointee.descriptor)
        port.pointee.counters.deinitialize(count: 1).deallocate()
        port.deinitialize(count: 1).deallocate()
        for device in devices { free(device.terminal) }
    }

    private func free(_ terminal: TerminalPointer) {
        terminal.pointee.path?.deinitialize(count: 1).deallocate()
        terminal.pointee.counters.deinitialize(count: 1).deallocate()
        terminal.deinitialize(count: 1).deallocate()
    }

    /// Adds a card; the user beside it says `near`, by frame since the bench began.
    func add(
        _ id: UInt32, in room: Room, queueMilliseconds: Int = 50, near: @escaping (Int) -> Int16 = { _ in 0 }
    ) throws -> Device {
        let begin = Int(time * Int64(Self.rate) / 1_000_000_000)
        let device = try Device(id, room, queueMilliseconds: queueMilliseconds) { near($0 - begin) }
        devices.append(device)
        send(.addTerminal(device.terminal))
        return device
    }

    func setVoice(_ kind: VoiceProcessingKind, _ stages: VoiceStages = .all) throws {
        let port = VoicePointer.allocate(capacity: 1)
        port.initialize(to: try VoicePort(kind, bus: BusRates(Self.rate), stages: stages))
        send(.setVoice(port, stages))
    }

    func send(_ command: Command) {
        for device in devices { device.set(time) }
        thread.send(command)
        takeEvents()
    }

    func route(to id: UInt32) { send(.route(id)) }

    func run(seconds: Double, each: (Int) -> Void = { _ in }) {
        for number in 0..<Int((seconds * 100).rounded()) {
            each(number)
            step()
        }
    }

    /// 10 ms.
    private func step() {
        time += 10_000_000
        thread.state.pointee.now = time
        for device in devices {
            device.set(time)
            guard let path = device.terminal.pointee.path, path.pointee.isStarted else { continue }
            while true {
                let frames = path.pointee.read(now: time, device.terminal.pointee.counters)
                if frames <= 0 { break }
                device.terminal.pointee.captured(
                    path.pointee.pcm, frames, keep: thread.state.pointee.keptFrames(device.terminal))
                let before = thread.counters.pointee.ticks.read()
                if same(device.terminal, thread.state.pointee.master) { thread.state.pointee.runTicks(device.terminal) }
                ticks += thread.counters.pointee.ticks.read() - before
            }
        }
        thread.state.pointee.cutIfReady()
        thread.state.pointee.finishEndings()
        answer()
        takeEvents()
    }

    /// The telephony application answers each block with one.
    private func answer() {
        var block = [Int16](repeating: 0, count: Self.tickFrames)
        while recv(provider, &block, 2 * block.count, Int32(MSG_DONTWAIT)) > 0 {
            uplink += block
            let said = (0..<Self.tickFrames).map { far(farPosition + $0) }
            farPosition += said.count
            _ = Foundation.send(provider, said, 2 * said.count, Int32(MSG_NOSIGNAL))
        }
        thread.state.pointee.serviceCalls()
    }

    private func takeEvents() {
        while let event = thread.events.pointee.pop() {
            reported.append(event)
            if case .voiceReturned(let port) = event { port.deinitialize(count: 1).deallocate() }
        }
    }

    var call: EngineCounters.Call { port.pointee.counters.pointee.snapshot(id: 1) }

    /// Processors that the thread has returned.
    var returnedVoices: Int { reported.count { if case .voiceReturned = $0 { true } else { false } } }

    func count(_ fact: AudioEngineEvent) -> Int {
        reported.count { if case .happened(fact) = $0 { true } else { false } }
    }
}

extension TickBench.Device {
    fileprivate func set(_ time: Int64) {
        playback.now = time
        capture.now = time
    }
}

/// The control side's handling of a card.
private func makeTerminal(
    _ id: UInt32, _ playback: SimulatedCard, _ capture: SimulatedCard, queueMilliseconds: Int
) -> TerminalPointer {
    let rate = TickBench.rate
    let streams = ALSAPath(
        playback: playback.pcm, capture: capture.pcm, playbackRate: rate, captureRate: rate,
        playbackPeriodFrames: rate / 100, playbackBufferFrames: playback.bufferFrames,
        capturePeriodFrames: rate / 100, captureBufferFrames: capture.bufferFrames)
    let descriptors = UnsafeMutablePointer<pollfd>.allocate(capacity: PathPort.maximumDescriptors)
    descriptors.initialize(repeating: pollfd(), count: PathPort.maximumDescriptors)
    let path = UnsafeMutablePointer<PathPort>.allocate(capacity: 1)
    path.initialize(
        to: PathPort(
            streams, bus: BusRates(rate), target: rate * queueMilliseconds / 1000, descriptors: descriptors,
            descriptorCount: 0))
    let counters = UnsafeMutablePointer<TerminalCounters>.allocate(capacity: 1)
    counters.initialize(to: TerminalCounters())
    let terminal = TerminalPointer.allocate(capacity: 1)
    terminal.initialize(
        to: Terminal(
            id: id, .path(path), captureRate: rate, playbackRate: rate, bus: BusRates(rate), speakerGain: 1,
            microphoneGain: 1,
            counters: counters))
    return terminal
}
