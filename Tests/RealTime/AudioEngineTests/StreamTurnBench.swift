import AudioDSP
import BluetoothTypes
import CBTCall
import Foundation
import RealTimeStorage
import TestSupport
import Testing

@testable import AudioEngine

/// The thread's own code with a stream that plays a program alone, in given time: 48 kHz, packets of 21 ms.
final class TurnBench {
    static let rate = 48_000
    let thread: UnstartedThread
    let memory: PCMMemory
    let headset: StreamPortBench
    private let path: PathPointer
    private let terminal: TerminalPointer
    private let pcm: PCMPointer
    private let playback: PlaybackPointer
    private(set) var time: Int64 = 1_000_000_000

    /// - Parameter sound: samples of the ring, in the order of its memory.
    init(
        periodFrames: Int, bufferFrames: Int, sound: (Int) -> Int16 = tone(1_000, rate: TurnBench.rate)
    ) throws {
        headset = try StreamPortBench(try streamConfiguration([0x11, 0x15, 2, 53]), mtu: 1_000)
        memory = try PCMMemory(
            rate: Self.rate, layout: SampleLayout(.s16, channels: 2), bufferFrames: bufferFrames,
            periodFrames: periodFrames, isCapture: false)
        let samples = memory.samples.assumingMemoryBound(to: Int16.self)
        for index in 0..<2 * bufferFrames { samples[index] = sound(index) }
        // The ring is heard again and again.
        memory.ring.pointee.application = 10_000_000
        thread = UnstartedThread(now: time)
        let descriptors = UnsafeMutablePointer<pollfd>.allocate(capacity: PathPort.maximumDescriptors)
        path = .allocate(capacity: 1)
        path.initialize(
            to: PathPort(
                ALSAPath(playbackRate: 16_000, captureRate: 16_000), bus: 16_000, target: 0,
                descriptors: descriptors, descriptorCount: 0))
        terminal = .allocate(capacity: 1)
        terminal.initialize(
            to: Terminal(
                id: 2, .stream(headset.port, path), captureRate: 16_000, playbackRate: Self.rate, bus: 16_000,
                speakerGain: 1, microphoneGain: 1, isAlone: true, counters: headset.counters))
        pcm = .allocate(capacity: 1)
        pcm.initialize(to: PCMPort(id: 1, memory, bus: 16_000))
        playback = .allocate(capacity: 1)
        playback.initialize(
            to: PlaybackPort(
                id: 1, .stream(pcm), rank: 10, duckGain: 1, yieldsToCalls: false, target: 2, bus: 16_000,
                volume: 1))
        thread.send(.addTerminal(terminal))
        thread.send(.addPlayback(playback))
    }

    deinit {
        thread.end()
        playback.deinitialize(count: 1).deallocate()
        pcm.deinitialize(count: 1).deallocate()
        terminal.deinitialize(count: 1).deallocate()
        path.deinitialize(count: 1).deallocate()
    }

    /// When the thread wakes next.
    var deadline: Int64 { thread.state.pointee.deadline(of: terminal) }

    var playbacks: Int { thread.state.pointee.playbacks.count }
    var ticksToPacket: Int { headset.port.pointee.ticksToPacket }

    /// What the program plays goes into packets as it is.
    var passesProgram: Bool { thread.state.pointee.unchangedPlayback(at: terminal) != nil }

    var missing: UInt64 { memory.ring.pointee.missing }
    var hardware: UInt64 { memory.ring.pointee.hardware }
    /// Frames that the program has written.
    var application: UInt64 {
        get { memory.ring.pointee.application }
        set { memory.ring.pointee.application = newValue }
    }

    /// Plays silence beside the program.
    func addSilence() throws -> PlaybackPointer {
        let samples = UnsafeMutablePointer<Int16>.allocate(capacity: 1)
        samples.initialize(to: 0)
        return add(.samples(samples, count: 1, loops: true), as: 2)
    }

    /// Plays a tone beside the program.
    func addTone() -> PlaybackPointer {
        let generator = UnsafeMutablePointer<ToneGenerator>.allocate(capacity: 1)
        generator.initialize(to: ToneGenerator(ToneSpecification([440]), bus: 16_000))
        return add(.tone(generator), as: 3)
    }

    private func add(_ content: PlaybackPort.Content, as id: UInt32) -> PlaybackPointer {
        let playback = PlaybackPointer.allocate(capacity: 1)
        playback.initialize(
            to: PlaybackPort(
                id: id, content, rank: 10, duckGain: 1, yieldsToCalls: false, target: 2, bus: 16_000, volume: 1))
        thread.send(.addPlayback(playback))
        return playback
    }

    /// Releases a playback that has ended.
    func free(_ playback: PlaybackPointer) {
        switch playback.pointee.content {
        case .samples(let samples, _, _): samples.deallocate()
        case .tone(let generator): generator.deinitialize(count: 1).deallocate()
        case .application, .stream: break
        }
        playback.deinitialize(count: 1).deallocate()
    }

    /// Sets the volume of everything that the headset hears.
    func setSpeaker(_ gain: Float) {
        terminal.pointee.speaker.set(gain)
        headset.port.pointee.setSpeaker(gain)
    }

    /// Turns whenever the thread would wake, until this time; then makes the ticks that are due, as for a command.
    func run(until end: Int64) {
        while deadline <= end { turn(at: deadline) }
        time = end
        thread.state.pointee.now = end
        thread.state.pointee.catchUpStreams()
        headset.receive()
    }

    /// One turn of the thread at this time.
    func turn(at time: Int64) {
        self.time = time
        thread.state.pointee.now = time
        thread.state.pointee.serviceTimers()
        thread.state.pointee.endPlaybacks()
        headset.receive()
    }
}
