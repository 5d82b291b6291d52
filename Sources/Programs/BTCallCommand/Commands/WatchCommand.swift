import ArgumentParser
import BTCall
import BTCallJSON
import CommandKit
import ControlLoop
import Glibc
import Spelling

struct WatchCommand: BridgeCommand {
    static let configuration = CommandConfiguration(
        commandName: "watch", abstract: "Run a command for each event, until interrupted.",
        discussion: """
            /bin/sh runs CMD once for each event, one after the other. CMD itself is never changed: its \
            environment describes the event: BTCALL_EVENT, BTCALL_CALL (the id), BTCALL_NUMBER, BTCALL_NAME, \
            BTCALL_STATE, BTCALL_STATUS, BTCALL_DIRECTION, BTCALL_PROVIDER, BTCALL_ICON, BTCALL_DEVICE, \
            BTCALL_OLD_DEVICE, BTCALL_REASON, BTCALL_ADDRESS, BTCALL_BUTTON, BTCALL_SETTING, BTCALL_VALUE, \
            BTCALL_TIME, and BTCALL_JSON with the line of `btcall monitor --json`. All are set, unused ones to an \
            empty value. A value has at most 32 KiB; a longer BTCALL_JSON is replaced by one with event, time and \
            cut only.

            With --json it prints a line for each run: event, status, killed.

            Example: btcall watch --event incomingCall --exec 'logger "$BTCALL_NAME calls"'
            """)

    @Option(help: ArgumentHelp("Command to run, in quotes; variables in it go in double quotes.", valueName: "cmd"))
    var exec: String

    @Option(
        help: ArgumentHelp(
            """
            Only this event, a word of `btcall monitor`; may be repeated. Accepted: \
            \(BridgeEvent.words.joined(separator: ", ")). Default: all events.
            """, valueName: "name"),
        completion: .list(BridgeEvent.words), transform: WatchCommand.word)
    var event: [String] = []

    @Option(
        help: ArgumentHelp("Kill a command that still runs after this many seconds.", valueName: "seconds"),
        transform: WatchCommand.limit)
    var timeout: Duration = .seconds(10)

    @OptionGroup var options: CommonOptions

    func perform(on bridge: CallBridge, _ output: Output) async throws {
        let events = await bridge.events()
        var calls: [Call.ID: Call] = [:]
        if let error = await MonitorCommand.absence(of: bridge) {
            guard error.code == .notRunning else { throw error }
            output.printError("\(error.message); waiting for it")
        } else {
            for call in try await bridge.calls.list() { calls[call.id] = call }
        }
        let hook = EventHook(exec, within: timeout, output, isJSON: options.json)
        let known = calls
        let watch = Task { @ControlPlane in await self.watch(events, known, hook) }
        let signals = try [SIGINT, SIGTERM].map { signal in
            try ControlLoop.shared.onSignal(signal) { watch.cancel() }
        }
        await watch.value
        for signal in signals { signal.cancel() }
        await hook.stop()
    }

    /// - Parameter known: the calls present before the first event.
    @ControlPlane
    func watch(_ events: AsyncStream<BridgeEvent>, _ known: [Call.ID: Call], _ hook: EventHook) async {
        var calls = known
        for await event in events {
            var call: Call?
            switch event {
            case .callAdded(let added), .incomingCall(let added):
                calls[added.id] = added
                call = added
            case .callRemoved(let id, _): call = calls.removeValue(forKey: id)
            case .daemonVanished: calls = [:]
            default: call = event.call.flatMap { calls[$0] }
            }
            guard self.event.isEmpty || self.event.contains(event.word) else { continue }
            var environment = HookVariables.values(of: event, call, at: .now)
            environment["BTCALL_BUS"] = "\(options.bus)"
            hook.add(environment)
        }
    }

    private static func word(_ text: String) throws -> String {
        guard BridgeEvent.words.contains(text) else {
            let question = Suggestion.question(for: text, among: BridgeEvent.words).map { "; \($0)" } ?? ""
            throw ValidationError("accepted: \(BridgeEvent.words.joined(separator: ", "))\(question)")
        }
        return text
    }

    private static func limit(_ text: String) throws -> Duration {
        guard let seconds = Double(text), (0.1...3600).contains(seconds) else {
            throw ValidationError("accepted: a number of seconds, 0.1 to 3600")
        }
        return .milliseconds(Int64(seconds * 1000))
    }
}

extension BridgeEvent {
    /// The call of an event that carries only its id.
    fileprivate var call: Call.ID? {
        switch self {
        case .callStateChanged(let id, _, _), .callStatusChanged(let id, _, _), .callRemoved(let id, _),
            .callQualityChanged(let id, _), .callRecordedChanged(let id, _), .recordingDenied(let id, _),
            .recordingRequested(let id, _), .cameraSettingsChanged(let id, _), .mediaChangeRequested(let id, _),
            .callTalkChanged(let id, _, _):
            id
        default: nil
        }
    }
}
