import BTCall
import ControlLoop
import Glibc

/// How `btcall call update` reaches the process that owns a call: a socket with the call's id for a name, at which one line
/// comes, as `btcall provider` reads it, and one line answers. For the same user, and for root.
@ControlPlane
final class CallControl {
    private static let answerTime = Duration.seconds(10)

    private let listener: Int32
    private let onMessage: @ControlPlane (ProviderMessage) async throws -> Void
    private var accepting: Listener?
    private var connections: [Int32: LineSource] = [:]

    private nonisolated static func name(_ call: Call.ID) -> String { "@btcall/call/\(call)" }

    /// - Parameter onMessage: carries a message out, or throws why not.
    init(
        _ call: Call.ID, onMessage: @escaping @ControlPlane (ProviderMessage) async throws -> Void
    ) throws(SystemError) {
        self.onMessage = onMessage
        listener = try UnixStream.listen(Self.name(call))
        do throws(SystemError) {
            accepting = try Listener(listener, "the call's owner", logger: nil) { [weak self] connected in
                if let self { take(connected) } else { Glibc.close(connected) }
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

    private func take(_ descriptor: Int32) {
        let peer = UnixStream.peer(of: descriptor)
        guard peer == geteuid() || peer == 0 else {
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
        } catch let error as GatewayRefusal {
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
        // Who does not take such a line has gone.
        _ = Glibc.send(descriptor, bytes, bytes.count, Int32(MSG_NOSIGNAL | MSG_DONTWAIT))
    }

    // MARK: The other side

    /// Has the owner of a call carry out an update.
    ///
    /// - Throws: `SystemError` when the call's owner does not listen; ``CommandFailure`` with what it answers.
    static func update(_ call: Call.ID, _ state: Call.State, _ reason: Call.EndReason?) async throws {
        let descriptor = try UnixStream.connect(name(call))
        defer { Glibc.close(descriptor) }
        var message: [(String, JSON)] = [("update", .string(state.rawValue))]
        if let reason { message.append(("reason", .string(reason.rawValue))) }
        send(.object(message), descriptor)
        let answer = Answer()
        let source = LineSource(descriptor) { line in
            answer.line = answer.line ?? line
            answer.finish()
        } onEnd: {
            answer.finish()
        }
        source.start()
        let timer = ControlLoop.shared.schedule(after: answerTime) { answer.finish() }
        await answer.wait()
        timer.cancel()
        source.stop()
        guard case .bytes(let bytes, _)? = answer.line else {
            throw CommandFailure("the call's owner did not answer: the call may have ended, see `btcall calls`")
        }
        if let why = refusal(bytes) { throw CommandFailure(why) }
    }

    /// What is wrong, as an answer has it; nil: nothing.
    private static func refusal(_ line: [UInt8]) -> String? {
        let text = String(decoding: line, as: UTF8.self)
        do throws(GatewayRefusal) {
            return try GatewayFields(json: line, "answer").optionalText("error")
        } catch {
            return "the call's owner answered \(text)"
        }
    }
}

/// One line that is waited for.
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
