package import AudioEngine
package import AudioPaths
import BTCallDaemon
import BluetoothTypes
package import Configuration
package import ControlLoop
import Glibc
package import Routing

/// Time from unmuting until the first samples of a sound card's microphone go to the far end: with the microphone already
/// running, and with one that must be opened first. Uses the daemon's audio engine.
@ControlPlane
package final class MicrophoneBench {
    package struct Result: Sendable {
        /// Milliseconds of each run, sorted.
        package var prepared: [Double] = []
        package var cold: [Double] = []
        /// The device and its format.
        package var summary = ""
        /// Whether the audio thread had real-time priority.
        package var isRealtime = false
    }

    /// Reason why nothing was measured.
    package enum Failure: Error, CustomStringConvertible {
        case path(PathError)
        case engine(AudioEngineError)
        case socket(SystemError)
        /// No samples within this many seconds.
        case silent(after: Int)

        package var description: String {
            switch self {
            case .path(let error): "\(error.what); \(error.remedy)"
            case .engine(let error): "the audio engine: \(error)"
            case .socket(let error): "no socket for the call: \(error)"
            case .silent(let seconds):
                "nothing came from the microphone within \(seconds) s; a device without a clock, such as null, cannot be"
                    + " measured"
            }
        }
    }

    /// Longest acceptable time of a prepared microphone, in milliseconds.
    package static let limit = 20.0
    private static let timeoutSeconds = 5
    private static let blockBytes = 320

    private let kind: LocalDevice
    private let paths: ALSAPathOpener
    private let engine: AudioEngine
    private let provider: Int32
    private var result = Result()
    private var nextCapture: UInt32 = 1

    /// - Parameter kind: a local device of the configuration; only its microphone is opened.
    package init(_ kind: LocalDevice, of configuration: Configuration) throws(Failure) {
        self.kind = kind
        paths = ALSAPathOpener(configuration: configuration)
        guard let (ours, theirs) = PacketSocketPair.open() else { throw .socket(SystemError("socketpair")) }
        provider = theirs
        do throws(AudioEngineError) {
            engine = try AudioEngine()
            try engine.attachCall(1, descriptor: ours, rate: 16_000, active: true)
            try engine.addTerminal(1, .path(ALSAPath()))
        } catch {
            throw .engine(error)
        }
        engine.setMuting(.everything)
        engine.route(to: 1)
        result.isRealtime = engine.isRealtime
    }

    /// - Parameter count: number of runs of each kind.
    package func run(_ count: Int) throws(Failure) -> Result {
        defer {
            engine.stop()
            Glibc.close(provider)
        }
        try wait { if case .callStarted = $0 { true } else { false } }
        for _ in 0..<count { result.cold.append(try cold()) }
        try warm(count)
        result.cold.sort()
        result.prepared.sort()
        return result
    }

    /// Opens the microphone first, as with the mute mode `restart`.
    private func cold() throws(Failure) -> Double {
        pass(milliseconds: 60)
        let start = ControlLoop.now
        let (open, capture) = try openCapture(runsAlone: false)
        engine.attachCapture(capture, to: 1)
        engine.setMuting(.off)
        try wait { $0 == .microphoneLive(true) }
        let time = start.duration(to: ControlLoop.now) / .milliseconds(1)
        try close(open, capture)
        return time
    }

    private func warm(_ count: Int) throws(Failure) {
        let (open, capture) = try openCapture(runsAlone: true)
        try wait { $0 == .captureReady(capture) }
        engine.attachCapture(capture, to: 1)
        for run in 0..<count {
            // Runs begin at any phase of the card's period.
            pass(milliseconds: 100 + run * 7 % 10)
            let start = ControlLoop.now
            engine.setMuting(.off)
            try wait { $0 == .microphoneLive(true) }
            result.prepared.append(start.duration(to: ControlLoop.now) / .milliseconds(1))
            engine.setMuting(.everything)
            try wait { $0 == .microphoneLive(false) }
        }
        try close(open, capture)
    }

    private func openCapture(runsAlone: Bool) throws(Failure) -> (OpenCapture, UInt32) {
        let open: OpenCapture
        do throws(PathError) {
            open = try paths.openCapture(kind)
        } catch {
            throw .path(error)
        }
        do throws(AudioEngineError) {
            try engine.addCapture(nextCapture, open.stream, runsAlone: runsAlone)
        } catch {
            open.close()
            throw .engine(error)
        }
        result.summary = open.summary
        nextCapture += 1
        return (open, nextCapture - 1)
    }

    private func close(_ open: OpenCapture, _ capture: UInt32) throws(Failure) {
        engine.setMuting(.everything)
        engine.removeCapture(capture)
        try wait { $0 == .captureRemoved(capture) }
        open.close()
    }

    // MARK: Waiting

    private func pass(milliseconds: Int) {
        let end = ControlLoop.now.advanced(by: .milliseconds(milliseconds))
        while ControlLoop.now < end { _ = events(until: end) }
    }

    private func wait(for fits: (AudioEngineEvent) -> Bool) throws(Failure) {
        let end = ControlLoop.now.advanced(by: .seconds(Self.timeoutSeconds))
        while ControlLoop.now < end {
            if events(until: end).contains(where: fits) { return }
        }
        throw .silent(after: Self.timeoutSeconds)
    }

    /// Answers the call's blocks, and returns the engine's events.
    private func events(until end: Instant) -> [AudioEngineEvent] {
        var polls = [
            pollfd(fd: engine.eventDescriptor, events: Int16(POLLIN), revents: 0),
            pollfd(fd: provider, events: Int16(POLLIN), revents: 0),
        ]
        let left = ControlLoop.now.duration(to: end) / .milliseconds(1)
        guard poll(&polls, 2, Int32(max(1, left.rounded(.up)))) > 0 else { return [] }
        if polls[1].revents != 0 { answer() }
        return polls[0].revents != 0 ? engine.takeEvents() : []
    }

    private func answer() {
        var block = [UInt8](repeating: 0, count: Self.blockBytes)
        while recv(provider, &block, block.count, Int32(MSG_DONTWAIT)) > 0 {
            let silence = [UInt8](repeating: 0, count: Self.blockBytes)
            _ = send(provider, silence, silence.count, Int32(MSG_DONTWAIT | MSG_NOSIGNAL))
        }
    }
}
