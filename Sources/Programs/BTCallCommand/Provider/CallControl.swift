import BTCall
import BluetoothTypes
import CommandKit
import ControlLoop
import Glibc
import JSONText

/// Connects `btcall call update` to the process that owns a call: a socket whose name begins with the call's id. It receives
/// one line in the format of `btcall provider` and answers with one line. Open to the same user and to root.
///
/// Anybody may take abstract names and knows the ids of calls. The end of the name is therefore random, so that nobody can
/// take it first, and an update verifies the listener before it writes anything.
@ControlPlane
final class CallControl {
    private nonisolated static let answerTime = Duration.seconds(10)

    private let listener: Int32
    private let onMessage: @ControlPlane (ProviderMessage) async throws -> Void
    private var accepting: Listener?
    private var connections: [Int32: LineSource] = [:]

    nonisolated static func prefix(_ call: Call.ID) -> String { "@btcall/call/\(call)/" }

    /// - Parameter onMessage: carries a message out, or throws the reason for refusing it.
    init(
        _ call: Call.ID, onMessage: @escaping @ControlPlane (ProviderMessage) async throws -> Void
    ) throws(SystemError) {
        self.onMessage = onMessage
        listener = try UnixStream.listen(Self.prefix(call) + String(UInt64.random(in: 0...(.max)), radix: 16))
        do throws(SystemError) {
            accepting = try Listener(listener, "the call's owner", logger: nil) { [weak self] connected in
                if let self { serve(connected) } else { Glibc.close(connected) }
            }
        } catch {
            Glibc.close(listener)
            throw error
        }
    }

    isolated deinit {
        accepting?.cancel()
        Glibc.close(listener)
        for (descriptor, line) in connections {
            line.stop()
            Glibc.close(descriptor)
        }
    }

    private func serve(_ descriptor: Int32) {
        guard let peer = SocketPeer(of: descriptor), peer.user == geteuid() || peer.user == 0 else {
            Glibc.close(descriptor)
            return
        }
        let line = LineSource(descriptor) { [weak self] line in
            Task { @ControlPlane in await self?.handle(line, descriptor) }
        } onEnd: { [weak self] in
            self?.close(descriptor)
        }
        connections[descriptor] = line
        line.start()
    }

    private func close(_ descriptor: Int32) {
        guard let line = connections.removeValue(forKey: descriptor) else { return }
        line.stop()
        Glibc.close(descriptor)
    }

    private func handle(_ line: LineSource.Line, _ descriptor: Int32) async {
        var answer: JSON = ["ok": true]
        do {
            guard case .bytes(let bytes, _) = line else { throw CommandFailure("the line is too long") }
            try await onMessage(try ProviderMessage(line: bytes))
        } catch let error as MessageRefusal {
            switch error {
            case .malformed(let why), .unsupported(let why): answer = ["error": .string(why)]
            }
        } catch {
            answer = ["error": .string("\(error)")]
        }
        guard connections[descriptor] != nil else { return }
        Self.send(answer, descriptor)
    }

    private static func send(_ json: JSON, _ descriptor: Int32) {
        let bytes = Array((json.text() + "\n").utf8)
        // A peer that does not accept such a line has gone.
        _ = Glibc.send(descriptor, bytes, bytes.count, Int32(MSG_NOSIGNAL | MSG_DONTWAIT))
    }

    // MARK: The other side

    /// Whether a listener is trusted as a call's owner by the user who updates it: the same user; for root also everybody
    /// who may report calls to btcalld.
    ///
    /// - Parameter group: group whose members may report calls; nil when it does not exist.
    nonisolated static func isTrusted(_ peer: SocketPeer, by user: uid_t, group: gid_t?) -> Bool {
        if peer.user == user { return true }
        guard user == 0, let group else { return false }
        return peer.groups.contains(group)
    }

    private nonisolated static func isTrusted(_ peer: SocketPeer) -> Bool {
        isTrusted(peer, by: geteuid(), group: getgrnam("btcall")?.pointee.gr_gid)
    }

    /// Asks the owner of a call to carry out an update.
    ///
    /// - Parameters:
    ///   - limit: timeout for the answer.
    ///   - trust: decides which listeners may receive the update.
    /// - Throws: `SystemError` when no owner listens; ``CommandFailure`` with the owner's answer.
    static func update(
        _ call: Call.ID, _ state: Call.State, _ reason: Call.EndReason?, within limit: Duration = answerTime,
        trusting trust: (SocketPeer) -> Bool = { isTrusted($0) }
    ) async throws {
        let descriptor = try await connect(call, limit, trust)
        defer { Glibc.close(descriptor) }
        var message: [(String, JSON)] = [("update", .string(state.rawValue))]
        if let reason { message.append(("reason", .string(reason.rawValue))) }
        send(JSON(message), descriptor)
        let answer = Answer()
        let source = LineSource(descriptor) { line in
            answer.line = answer.line ?? line
            answer.finish()
        } onEnd: {
            answer.finish()
        }
        source.start()
        let timer = ControlLoop.shared.schedule(after: limit) { answer.finish() }
        await answer.wait()
        timer.cancel()
        source.stop()
        guard case .bytes(let bytes, _)? = answer.line else {
            throw CommandFailure("the call's owner did not answer: the call may have ended; see `btcall calls`")
        }
        if let why = refusal(bytes) { throw CommandFailure(why) }
    }

    /// Finds a trusted listener for a call. A listener that does not accept delays the search by at most `limit`.
    private static func connect(
        _ call: Call.ID, _ limit: Duration, _ trust: (SocketPeer) -> Bool
    ) async throws -> Int32 {
        let end = ControlLoop.now.advanced(by: limit)
        while true {
            var failure = SystemError(call: "connect", code: ECONNREFUSED)
            for name in UnixStream.names(withPrefix: prefix(call)) {
                do throws(SystemError) {
                    let descriptor = try UnixStream.connect(name)
                    if let peer = SocketPeer(of: descriptor), trust(peer) { return descriptor }
                    Glibc.close(descriptor)
                } catch  where error.code == EAGAIN {
                    // Its backlog is full; it may still be the owner.
                    failure = error
                } catch {
                    // The process has just ended.
                }
            }
            guard failure.code == EAGAIN, ControlLoop.now < end else { throw failure }
            await ControlLoop.shared.sleep(for: .milliseconds(50))
        }
    }

    /// The error in an answer; nil for success.
    private static func refusal(_ line: [UInt8]) -> String? {
        let text = String(decoding: line, as: UTF8.self)
        do throws(MessageRefusal) {
            return try MessageFields(json: line, "answer").optionalText("error")
        } catch {
            return "the call's owner answered \(text)"
        }
    }
}

/// Waits for one line.
@ControlPlane
private final class Answer {
    var line: LineSource.Line?
    private var isOver = false
    private var waiter: CheckedContinuation<Void, Never>?

    nonisolated init() {}

    func finish() {
        isOver = true
        waiter?.resume()
        waiter = nil
    }

    func wait() async {
        guard !isOver else { return }
        await withCheckedContinuation { waiter = $0 }
    }
}
