import BTCall
import BTCallJSON
import CommandKit
import ControlLoop
import JSONText

/// A telephony application whose other half is a script: requests go out as one JSON object a line; replies, reports and
/// updates come in.
@ControlPlane
final class LineProvider {
    /// The time for which the daemon waits for a reply.
    private nonisolated static let deadline = Duration.seconds(5)

    private nonisolated static let isEnding = "the provider ends"

    private enum Ending { case input, interrupted, released }

    private enum Reply {
        case done
        case refused(String)
    }

    private let output: Output
    private var calls: OwnedCalls?
    private var lastRequest = 0
    private var requests: [Int: (continuation: CheckedContinuation<Reply, Never>, timer: Timer)] = [:]
    /// Reports and updates in order, with their line numbers.
    private var commands: [(ProviderMessage, Int)] = []
    private var runner: Task<Void, Never>?
    private var ending: Ending?
    private var ends: CheckedContinuation<Void, Never>?

    init(_ output: Output) {
        self.output = output
    }

    /// Runs until the end of the input, an interrupt, or the daemon's end.
    ///
    /// - Throws: the daemon's refusal of the registration; `ExitCode` 3 when the daemon has gone.
    func run(
        _ description: CallProviderDescription, _ audio: RawAudio?, input: Int32, on bridge: CallBridge
    ) async throws {
        let calls = OwnedCalls(
            audio,
            onRequest: { [weak self] request, call throws(ProviderRefusal) in
                guard let self else { throw .failed(Self.isEnding) }
                try await ask(request, call)
            },
            onEvent: { [weak self] event in self?.told(event) })
        try await calls.register(description, on: bridge)
        self.calls = calls
        say(["event": "registered", "name": .string(description.name)])
        let source = LineSource(input) { [weak self] line in
            self?.handle(line)
        } onEnd: { [weak self] in
            self?.end(.input)
        }
        source.start()
        if ending == nil { await withCheckedContinuation { ends = $0 } }
        source.stop()
        // Lines before the end of the input are still carried out.
        if ending == .input { await runner?.value }
        for id in requests.keys.sorted() { finish(id, .refused(Self.isEnding)) }
        await calls.unregister()
        if ending == .released {
            throw CommandFailure("btcalld has ended, and all calls with it: register again when it is back")
        }
    }

    /// Ends it as the end of the input does.
    func interrupt() { end(.interrupted) }

    private func end(_ ending: Ending) {
        guard self.ending == nil else { return }
        self.ending = ending
        ends?.resume()
        ends = nil
    }

    private func say(_ json: JSON) { output.printLine(json) }

    // MARK: From the script

    private func handle(_ line: LineSource.Line) {
        switch line {
        case .tooLong(let number): refuse(number, "longer than \(LineSource.limit) bytes")
        case .bytes(let bytes, let number):
            guard bytes.contains(where: { ![0x09, 0x0D, 0x20].contains($0) }) else { return }
            do throws(MessageRefusal) {
                handle(try ProviderMessage(line: bytes), inLine: number)
            } catch {
                switch error {
                case .malformed(let why), .unsupported(let why): refuse(number, why)
                }
            }
        }
    }

    private func handle(_ message: ProviderMessage, inLine number: Int) {
        switch message {
        case .reply(let id, let error):
            guard requests[id] != nil else {
                let isLate = id >= 1 && id <= lastRequest
                return refuse(
                    number, isLate ? "request \(id) waits for no reply any more" : "there is no request \(id)")
            }
            finish(id, error.map { .refused($0) } ?? .done)
        case .incoming, .outgoing, .update:
            commands.append((message, number))
            guard runner == nil else { return }
            runner = Task { @ControlPlane in await self.runCommands() }
        }
    }

    private func refuse(_ line: Int, _ why: String) {
        say(["event": "error", "line": JSON(line), "error": .string(why)])
    }

    private func runCommands() async {
        while !commands.isEmpty {
            let (message, number) = commands.removeFirst()
            do {
                try await carryOut(message)
            } catch {
                refuse(number, "\(error)")
            }
        }
        runner = nil
    }

    private func carryOut(_ message: ProviderMessage) async throws {
        guard let calls else { return }
        switch message {
        case .reply: return
        case .incoming(let number, let name, let routes):
            let call = try await calls.reportIncoming(number: number, name: name, routes: routes)
            reported(call, number)
        case .outgoing(let number, let name, let state, let routes):
            let call = try await calls.reportOutgoing(number: number, name: name, state, routes: routes)
            reported(call, number)
        case .update(let state, let text, let reason):
            try await calls.update(try calls.find(text), state, reason)
        }
    }

    private func reported(_ call: Call.ID, _ number: String) {
        say(["event": "reported", "call": .string(call.description), "number": .string(number)])
        calls?.reported()
    }

    // MARK: To the script

    private func ask(_ request: CallRequest, _ call: Call.ID) async throws(ProviderRefusal) {
        guard ending == nil else { throw .failed(Self.isEnding) }
        lastRequest += 1
        let id = lastRequest
        let start: [(String, JSON)] = [
            ("event", .string(request.word)), ("id", JSON(id)), ("call", .string(call.description)),
        ]
        let reply = await withCheckedContinuation { continuation in
            let timer = ControlLoop.shared.schedule(after: Self.deadline) { [weak self] in self?.expired(id, call) }
            requests[id] = (continuation, timer)
            say(JSON(start + request.members))
        }
        if case .refused(let why) = reply { throw .failed(why) }
    }

    private func finish(_ id: Int, _ reply: Reply) {
        guard let request = requests.removeValue(forKey: id) else { return }
        request.timer.cancel()
        request.continuation.resume(returning: reply)
    }

    private func expired(_ id: Int, _ call: Call.ID) {
        say(["event": "timedOut", "id": JSON(id), "call": .string(call.description)])
        finish(id, .refused("the script did not reply within \(Self.deadline)"))
    }

    private func told(_ event: OwnedCalls.Event) {
        switch event {
        case .state(let call, let state, let reason):
            say([
                "event": "state", "call": .string(call.description), "state": .string(state.rawValue),
                "reason": JSON(reason),
            ])
        case .released:
            say(["event": "released"])
            end(.released)
        }
    }
}
