import AudioEngine
import BTCallAPI
import CBTCall
package import ControlLoop
package import Diagnostics
import Glibc
package import Logging

/// Serves programs on the ALSA PCM `btcall` (docs/applications/ALSA.md): gives each program its ring, and adds running streams
/// to the engine.
@ControlPlane
package final class PCMServer {
    package static let maximumStreams = 16
    /// Streams, mixers, and clients that have not sent their hello.
    private static let maximumConnections = 48
    /// Limits per process, so that no process can use up all places.
    private static let maximumStreamsPerProcess = 8
    private static let maximumConnectionsPerProcess = 24
    private static let group = "btcall"
    private static let problem = "pcm"

    /// Values for mixers: 0…100, 0…100, and whether the far end hears the microphone.
    package struct Values: Equatable, Sendable {
        package var playback: Int
        package var capture: Int
        package var isHeard: Bool

        package init(playback: Int, capture: Int, isHeard: Bool) {
            self.playback = playback
            self.capture = capture
            self.isHeard = isHeard
        }
    }

    /// A value that a mixer sets.
    package enum Request: Equatable, Sendable {
        case playback(Int), capture(Int), heard(Bool)
    }

    /// Streams have started or stopped.
    package let changes = Signal<Void>()
    /// Source and destination of the mixers' values.
    package weak var mixer: (any PCMMixing)?
    private var values: Values { mixer?.values ?? Values(playback: 100, capture: 100, isHeard: true) }
    /// Finds the process that connected a socket. Unknown processes (0, of another container) count as one.
    package var process: @ControlPlane (_ socket: Int32) -> Int32 = { PCMServer.peer(of: $0) }
    /// Path of the socket; nil serves nobody.
    package let path: String?
    private let engine: AudioEngine
    private let announcements: Announcements
    private let problems: ProblemList
    private let logger: Logger
    private var listener: Int32 = -1
    private var accepting: Listener?
    private var connections: [PCMConnection] = []
    private var lastStream: UInt32 = 0
    private var shown: Values?

    package init(
        path: String?, graph: AudioGraph, announcements: Announcements, problems: ProblemList, logger: Logger
    ) {
        self.path = path
        engine = graph.engine
        self.announcements = announcements
        self.problems = problems
        self.logger = logger
    }

    // MARK: Lifecycle

    package func start() {
        guard let path, listener < 0 else { return }
        // systemd creates the directory; a daemon started by hand creates its own. A failure shows below.
        let directory = path.split(separator: "/").dropLast().map { "/" + $0 }.joined()
        if !directory.isEmpty { mkdir(directory, 0o755) }
        // The unit runs the daemon with this group, and forbids changing it.
        let group = getgrnam(Self.group).map(\.pointee.gr_gid).flatMap { $0 == getegid() ? nil : $0 } ?? gid_t.max
        var code: Int32 = 0
        let descriptor = btcall_listen_at(path, 0o660, group, &code)
        guard descriptor >= 0 else { return fail(path, SystemError("the socket")) }
        if code != 0 {
            logger.notice("\(path) does not get the group \(Self.group): \(SystemError(call: "chown", code: code))")
        }
        do throws(SystemError) {
            accepting = try Listener(descriptor, "the ALSA PCM", logger: logger) { [weak self] connected in
                if let self { accept(connected) } else { Glibc.close(connected) }
            }
        } catch {
            Glibc.close(descriptor)
            return fail(path, error)
        }
        listener = descriptor
        logger.info("the ALSA PCM is served at \(path)")
    }

    private func fail(_ path: String, _ error: SystemError) {
        problems.begin(
            Self.problem, what: "programs on the ALSA PCM btcall have no call: \(path): \(error)",
            remedy: error.code == EADDRINUSE
                ? "stop the other btcalld, or give this one another [audio] pcmSocket"
                : "make its directory writable for the daemon (RuntimeDirectory=btcall in the unit), or set"
                    + " [audio] pcmSocket")
    }

    package func stop() {
        accepting?.cancel()
        accepting = nil
        for connection in connections { end(connection) }
        guard listener >= 0, let path else { return }
        Glibc.close(listener)
        listener = -1
        unlink(path)
    }

    // MARK: Streams

    /// Number of running streams.
    package func count(_ role: PCMHello.Role, isCapture: Bool = false) -> Int {
        connections.count { $0.running != nil && $0.hello?.role == role && $0.hello?.isCapture == isCapture }
    }

    private static func peer(of socket: Int32) -> Int32 {
        var process: pid_t = 0
        var user: uid_t = 0
        return btcall_peer_credentials(socket, &process, &user) == 0 ? process : 0
    }

    private func accept(_ descriptor: Int32) {
        let client = process(descriptor)
        if let reason = fullness(
            connections.map { $0.process }, of: client, "connections", Self.maximumConnections,
            perProcess: Self.maximumConnectionsPerProcess)
        {
            logger.notice("a client of the PCM (process \(client)) is not served: \(reason)")
            PCMConnection.send(PCMRefusal(EBUSY, reason), closing: descriptor)
            return
        }
        do throws(SystemError) {
            let connection = try PCMConnection(descriptor, of: client)
            connection.onEvent = { [weak self, weak connection] event in
                if let connection { self?.handle(event, of: connection) }
            }
            connections.append(connection)
        } catch {
            logger.warning("a client of the PCM is not served: \(error)")
        }
    }

    /// - Parameter processes: the owner of each open place.
    /// - Returns: why this process gets no further place, or nil.
    private func fullness(
        _ processes: [Int32], of client: Int32, _ what: String, _ most: Int, perProcess: Int
    ) -> String? {
        if processes.count(where: { $0 == client }) >= perProcess {
            return "\(perProcess) \(what) of this process are open, which is the most for one: close one"
        }
        guard processes.count >= most else { return nil }
        return "\(most) \(what) are open, which is the most there can be: close one"
    }

    private func handle(_ event: PCMConnection.Event, of connection: PCMConnection) {
        switch event {
        case .hello(let hello): greet(connection, hello)
        case .refused(let refusal): refuse(connection, refusal)
        case .start: start(connection)
        case .stop: stop(connection)
        case .value(let element, let value): set(element, value, of: connection)
        case .gone(let complaint):
            if let complaint { logger.notice("\(name(connection)) is disconnected: \(complaint)") }
            end(connection)
        }
    }

    private func name(_ connection: PCMConnection) -> String { connection.hello?.program ?? "a client of the PCM" }

    private func greet(_ connection: PCMConnection, _ hello: PCMHello) {
        guard hello.role != .control else {
            guard connection.accept(nil), send(values, to: connection, after: nil) else { return end(connection) }
            if shown == nil { shown = values }
            return
        }
        let streams = connections.filter { $0.memory != nil }
        if let reason = fullness(
            streams.map { $0.process }, of: connection.process, "streams", Self.maximumStreams,
            perProcess: Self.maximumStreamsPerProcess)
        {
            return refuse(connection, PCMRefusal(EBUSY, reason))
        }
        let memory: PCMMemory
        do throws(AudioEngineError) {
            memory = try PCMMemory(
                rate: hello.rate, layout: hello.layout, bufferFrames: hello.bufferFrames,
                periodFrames: hello.periodFrames, isCapture: hello.isCapture)
        } catch {
            return refuse(connection, PCMRefusal(ENOMEM, "no memory for the stream: \(error)"))
        }
        guard connection.accept(memory) else { return end(connection) }
        logger.info(
            "\(hello.program) opened btcall:\(hello.role) \(hello.isCapture ? "to record" : "to play"): \(hello.rate) Hz"
        )
    }

    private func refuse(_ connection: PCMConnection, _ refusal: PCMRefusal) {
        logger.notice("\(name(connection)) gets no stream of the PCM: \(refusal.reason)")
        connection.send(refusal)
        end(connection)
    }

    private func start(_ connection: PCMConnection) {
        guard connection.running == nil, let hello = connection.hello, let memory = connection.memory else { return }
        do {
            switch hello.role {
            case .call:
                lastStream &+= 1
                try engine.addPCM(lastStream, memory)
                connection.running = .call(lastStream)
            case .ring: connection.running = .playback(try announcements.play(memory, .ring))
            case .page: connection.running = .playback(try announcements.play(memory, .page))
            case .control: return
            }
        } catch {
            // The stream continues by its own clock: a PCM client cannot be notified of this.
            logger.warning("\(hello.program): its stream is not connected: \(error)")
            return
        }
        changes.send()
    }

    private func stop(_ connection: PCMConnection) {
        switch connection.running {
        case nil: return
        case .call(let stream): engine.removePCM(stream)
        case .playback(let playback): engine.endPlayback(playback)
        }
        connection.running = nil
        changes.send()
    }

    private func end(_ connection: PCMConnection) {
        stop(connection)
        if let hello = connection.hello, let memory = connection.memory {
            // Losing one period each at start and stop is normal.
            let missing = memory.missingMilliseconds
            let late = missing > 20 ? ", \(missing) ms of which came too late to be heard" : ""
            logger.info("\(hello.program) closed btcall:\(hello.role)\(late)")
        }
        connection.close()
        connections.removeAll { $0 === connection }
        if !connections.contains(where: { $0.hello?.role == .control }) { shown = nil }
    }

    // MARK: Mixers

    /// Sends mixers the values that have changed.
    package func valuesChanged() {
        guard let old = shown else { return }
        let new = values
        shown = new
        for connection in connections where connection.hello?.role == .control {
            if !send(new, to: connection, after: old) { end(connection) }
        }
    }

    /// - Returns: false when the mixer does not take it.
    private func send(_ new: Values, to connection: PCMConnection, after old: Values?) -> Bool {
        let all: [(btcall_pcm_element, (Values) -> Int)] = [
            (BTCALL_PCM_PLAYBACK_VOLUME, { $0.playback }), (BTCALL_PCM_CAPTURE_VOLUME, { $0.capture }),
            (BTCALL_PCM_CAPTURE_SWITCH, { $0.isHeard ? 1 : 0 }),
        ]
        return all.allSatisfy { element, value in
            if let old, value(old) == value(new) { return true }
            return connection.send(Int32(clamping: value(new)), of: element.rawValue)
        }
    }

    private func set(_ element: UInt32, _ value: Int32, of connection: PCMConnection) {
        let number = Int(value)
        switch element {
        case BTCALL_PCM_PLAYBACK_VOLUME.rawValue where (0...100).contains(number): mixer?.perform(.playback(number))
        case BTCALL_PCM_CAPTURE_VOLUME.rawValue where (0...100).contains(number): mixer?.perform(.capture(number))
        case BTCALL_PCM_CAPTURE_SWITCH.rawValue where (0...1).contains(number): mixer?.perform(.heard(number == 1))
        default:
            logger.notice(
                """
                \(name(connection)) is disconnected: element \(element) set to \(value); accepted: volumes 0 to 100, \
                switch 0 or 1
                """)
            return end(connection)
        }
        valuesChanged()
        // The value may differ from the requested one: notify the mixer.
        if !send(values, to: connection, after: nil) { end(connection) }
    }
}

/// Source and destination of the values of mixers on the ALSA PCM.
@ControlPlane
package protocol PCMMixing: AnyObject {
    var values: PCMServer.Values { get }
    func perform(_ request: PCMServer.Request)
}
