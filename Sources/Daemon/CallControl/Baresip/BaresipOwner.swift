package import BTCallAPI
import BaresipControl
import BluetoothSockets
import BluetoothTypes
import CBTCall
package import Configuration
package import ControlLoop
package import DBus
import Diagnostics
import Glibc
import JSONText
package import Logging
import Telephony

/// Owns the calls of a running baresip, which knows nothing of us: carries out what `BaresipFollower` decides.
///
/// Its calls' audio is what baresip plays and records through the ALSA PCM; only their states and the wishes of headsets and
/// clients go by the connection to its module `ctrl_tcp`.
@ControlPlane
package final class BaresipOwner: CallOwner {
    package let name = "baresip"
    package let options: ProviderOptions = {
        var options = ProviderOptions(name: "baresip", audio: .pcm, capabilities: [.hold, .dtmf, .mute, .dial])
        options.schemes = ["sip", "sips", "tel"]
        return options
    }()
    package let busName: String? = nil

    private let configuration: BaresipConfiguration
    private let directory: CallDirectory
    private let logger: Logger
    private var follower: BaresipFollower
    private var timer: Timer?
    private var connecting: (descriptor: Int32, source: DescriptorSource)?
    private var channel: RFCOMMChannel?
    private var isRegistered = false
    private var isHoldSaid = false
    private var nextRequest: UInt64 = 1
    private var completions: [BaresipFollower.RequestID: CheckedContinuation<BaresipFollower.Failure?, Never>] = [:]
    /// Calls by the paths of their objects.
    private var calls: [String: BaresipFollower.CallKey] = [:]

    package init(_ configuration: BaresipConfiguration, directory: CallDirectory, logger: Logger) {
        self.configuration = configuration
        self.directory = directory
        self.logger = logger
        follower = BaresipFollower(account: configuration.account)
    }

    private var place: String { "\(configuration.address):\(configuration.port)" }

    /// Follows from now on, and looks for baresip while it is not there.
    package func start() {
        if !configuration.isLoopback {
            logger.warning("baresip at \(place) is on another machine: anybody on the way can hear and end its calls")
        }
        run(follower.start(at: ControlLoop.now))
    }

    /// Its calls end here, not in baresip.
    package func stop() {
        run(follower.stop())
    }

    // MARK: What is wanted

    package func start(_ call: String, _ number: String) async throws(APIError) {
        do throws(APIError) {
            try await perform { id in
                let (key, actions) = follower.dial(number, id: id, at: ControlLoop.now)
                calls[call] = key
                return actions
            }
        } catch {
            calls[call] = nil
            throw error
        }
    }

    package func answer(_ call: String) async throws(APIError) {
        try await perform(call) { .answer($0) }
    }

    package func end(_ call: String, reason: String) async throws(APIError) {
        let reason = CallEndReason(rawValue: reason) ?? .localHangUp
        try await perform(call) { .end($0, reason) }
    }

    package func setHeld(_ call: String, _ held: Bool) async throws(APIError) {
        try await perform(call) { .setHeld($0, held) }
    }

    package func sendDTMF(_ call: String, _ tones: String) async throws(APIError) {
        try await perform(call) { .sendTones($0, tones) }
    }

    package func setMuted(_ call: String, _ muted: Bool) async throws(APIError) {
        try await perform(call) { .setMuted($0, muted) }
    }

    package func audioReady(
        _ call: String, _ descriptor: PassedDescriptor, _ format: AudioFormat
    ) async throws(APIError) {
        // baresip has its audio from the PCM; the descriptor closes with its last reference.
    }

    package func released() {
        // It is unregistered next.
        isRegistered = false
    }

    private func perform(
        _ call: String, _ request: (BaresipFollower.CallKey) -> BaresipFollower.Request
    ) async throws(APIError) {
        guard let key = calls[call] else { throw APIError(.noSuchCall, "baresip knows the call no more") }
        try await perform { id in follower.request(request(key), id: id, at: ControlLoop.now) }
    }

    private func perform(
        _ begin: (BaresipFollower.RequestID) -> [BaresipFollower.Action]
    ) async throws(APIError) {
        let id = BaresipFollower.RequestID(nextRequest)
        nextRequest += 1
        let failure = await withCheckedContinuation { continuation in
            completions[id] = continuation
            run(begin(id))
        }
        switch failure {
        case nil: return
        case .away: throw APIError(.providerFailed, "baresip at \(place) is not there")
        case .noSuchCall: throw APIError(.noSuchCall, "baresip knows the call no more")
        case .timedOut(let what): throw APIError(.timedOut, what)
        case .refused(let what): throw APIError(.providerFailed, what)
        case .invalid(let what): throw APIError(.invalidArgument, what)
        }
    }

    // MARK: Carrying out

    private func run(_ actions: [BaresipFollower.Action]) {
        for action in actions {
            switch action {
            case .connect: connect()
            case .disconnect: disconnect()
            case .send(let command, let parameters, let token): send(command, parameters, token)
            case .appeared:
                isRegistered = true
                directory.register(self)
            case .vanished: vanished()
            case .added(let key, let direction, let peer, let state): added(key, direction, peer, state)
            case .changed(let key, let state): changed(key, state)
            case .completed(let id, let failure): completions.removeValue(forKey: id)?.resume(returning: failure)
            case .note(let notice): say(notice)
            }
        }
        schedule()
    }

    private func schedule() {
        let deadline = follower.deadline
        guard deadline != timer?.deadline || timer?.isPending != true else { return }
        timer?.cancel()
        timer = deadline.map { deadline in
            ControlLoop.shared.schedule(at: deadline) { [weak self] in
                guard let self else { return }
                run(follower.deadlineReached(at: ControlLoop.now))
            }
        }
    }

    private func vanished() {
        calls = [:]
        guard isRegistered else { return }
        isRegistered = false
        directory.unregister(self)
    }

    private func added(
        _ key: BaresipFollower.CallKey, _ direction: CallDirection, _ peer: BaresipPeer, _ state: CallState
    ) {
        let options = ReportOptions(name: peer.name)
        do throws(APIError) {
            let record: CallRecord
            switch direction {
            case .incoming:
                record = try directory.reportIncoming(from: self, number: peer.number ?? "", options: options)
            case .outgoing:
                record = try directory.reportOutgoing(from: self, number: peer.number ?? "", options: options)
            }
            calls[record.path] = key
        } catch {
            logger.notice("a call of baresip is not taken: \(error.message)")
            if direction == .incoming { run(follower.refuse(key, at: ControlLoop.now)) }
        }
    }

    private func changed(_ key: BaresipFollower.CallKey, _ state: CallState) {
        guard let path = calls.first(where: { $0.value == key })?.key else { return }
        if state.isEnded { calls[path] = nil }
        // One that was ended from here is over for the directory already.
        guard let record = directory.record(at: path) else { return }
        do throws(APIError) {
            try directory.update(record, state, from: self)
        } catch {
            logger.debug("a call of baresip does not become \(state): \(error.message)")
        }
    }

    private func say(_ notice: BaresipFollower.Notice) {
        switch notice {
        case .following:
            logger.notice("following baresip at \(place)")
            guard !isHoldSaid else { return }
            isHoldSaid = true
            logger.info("baresip does not tell when the far end holds a call: such a call stays active here")
        case .away(let reason):
            logger.notice("baresip at \(place) is not there (\(reason)); it is looked for every 1 to 30 s")
        case .stranger(let reason):
            logger.warning(
                """
                what listens at \(place) is not baresip's ctrl_tcp: \(reason); it is left alone for 30 s at a time: see \
                [provider baresip] port, and ctrl_tcp_listen in baresip's configuration
                """)
        case .odd(let what): logger.warning("baresip at \(place): \(what)")
        }
    }

    // MARK: The connection

    private func connect() {
        disconnect()
        do throws(SystemError) {
            let descriptor = try Self.beginConnection(configuration)
            do throws(SystemError) {
                let source = try ControlLoop.shared.add(descriptor, .writable) { [weak self] _ in
                    self?.connectionEnded()
                }
                connecting = (descriptor, source)
            } catch {
                close(descriptor)
                throw error
            }
        } catch {
            lost("\(error)")
        }
    }

    /// - Returns: a socket that connects, or has; its own to close.
    private static func beginConnection(_ configuration: BaresipConfiguration) throws(SystemError) -> Int32 {
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = UInt16(truncatingIfNeeded: configuration.port).bigEndian
        guard inet_pton(AF_INET, configuration.address, &address.sin_addr) == 1 else {
            throw SystemError(call: "inet_pton", code: EINVAL)
        }
        let type = Int32(bitPattern: SOCK_STREAM.rawValue | SOCK_NONBLOCK.rawValue | SOCK_CLOEXEC.rawValue)
        let descriptor = try SystemError.check("socket") { socket(AF_INET, type, 0) }
        let result = withUnsafePointer(to: address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                Glibc.connect(descriptor, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
            }
        }
        // An interrupted connect goes on in the kernel, exactly as one that is in progress.
        guard result == 0 || errno == EINPROGRESS || errno == EINTR else {
            let error = SystemError("connect")
            close(descriptor)
            throw error
        }
        return descriptor
    }

    private func connectionEnded() {
        guard let connecting else { return }
        self.connecting = nil
        connecting.source.cancel()
        var code: Int32 = 0
        var length = socklen_t(MemoryLayout<Int32>.size)
        let result = getsockopt(connecting.descriptor, SOL_SOCKET, SO_ERROR, &code, &length)
        guard result == 0, code == 0 else {
            close(connecting.descriptor)
            return lost("\(SystemError(call: "connect", code: code))")
        }
        do throws(SystemError) {
            let channel = try RFCOMMChannel(descriptor: connecting.descriptor)
            channel.onBytes = { [weak self] bytes in
                guard let self else { return }
                run(follower.received(bytes, at: ControlLoop.now))
            }
            channel.onClosed = { [weak self] reason in
                self?.channel = nil
                self?.lost(Self.words(reason))
            }
            self.channel = channel
        } catch {
            return lost("\(error)")
        }
        run(follower.connected(at: ControlLoop.now))
    }

    private static func words(_ reason: RFCOMMChannel.CloseReason) -> String {
        switch reason {
        case .closedByPeer: "it ended, or another program took the connection, of which it has one"
        case .linkLost: "the connection timed out"
        case .outputOverflow: "it takes no commands"
        case .failed(let error): "\(error)"
        }
    }

    /// On the next turn: it may be found out while the follower's actions are carried out.
    private func lost(_ reason: String) {
        ControlLoop.shared.perform { [weak self] in
            guard let self else { return }
            run(follower.disconnected(reason, at: ControlLoop.now))
        }
    }

    private func disconnect() {
        if let connecting {
            connecting.source.cancel()
            close(connecting.descriptor)
        }
        connecting = nil
        channel?.close()
        channel = nil
    }

    private func send(_ command: String, _ parameters: String?, _ token: String) {
        var members: [(String, JSON)] = [("command", .string(command))]
        if let parameters { members.append(("params", .string(parameters))) }
        members.append(("token", .string(token)))
        channel?.write(NetstringReader.frame(JSON(members).text()))
    }
}
