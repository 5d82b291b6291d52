import BTCall
import BTCallJSON
import CommandKit
import ControlLoop
import Glibc
import JSONText

/// `btcall status --watch`: full screen on a terminal, otherwise the status again after each change.
@ControlPlane
struct StatusWatch {
    let bridge: CallBridge
    let output: Output
    let isJSON: Bool

    /// Returns after q, SIGINT, SIGTERM or SIGHUP.
    ///
    /// - Parameter screen: nil prints lines.
    func run(on screen: TerminalScreen?) async throws {
        let events = await bridge.events()
        let first: LiveView.Bridge
        do throws(BridgeError) {
            first = .present(try await bridge.status())
        } catch {
            guard error.code == .notRunning else { throw error }
            first = .absent(error.message)
        }
        if let screen { try await show(events, first, on: screen) } else { try await printChanges(events, first) }
    }

    // MARK: Full screen

    private func show(
        _ events: AsyncStream<BridgeEvent>, _ first: LiveView.Bridge, on screen: TerminalScreen
    ) async throws {
        let style = TerminalStyle()
        let follower = StatusFollower(bridge, .live, first) { screen.show(style, $0.lines) }
        let watch = Task { @ControlPlane in await follower.run(events) }
        let key: @ControlPlane (Character) -> Void = { key in
            switch key {
            case "q", "Q": watch.cancel()
            case "m", "M": follower.toggleMute()
            default: break
            }
        }
        var signals = try Self.ends.map { try ControlLoop.shared.onSignal($0) { watch.cancel() } }
        signals.append(try ControlLoop.shared.onSignal(SIGWINCH) { screen.show(style, follower.view.lines) })
        signals.append(
            try ControlLoop.shared.onSignal(SIGTSTP) {
                screen.leave()
                kill(getpid(), SIGSTOP)
                // Continues here after SIGCONT.
                screen.enter(onKey: key)
                screen.show(style, follower.view.lines)
            })
        screen.enter(onKey: key)
        screen.show(style, follower.view.lines)
        await watch.value
        screen.leave()
        for signal in signals { signal.cancel() }
    }

    // MARK: Lines

    private func printChanges(_ events: AsyncStream<BridgeEvent>, _ first: LiveView.Bridge) async throws {
        var last: String?
        var wasAbsent = false
        let follower = StatusFollower(bridge, .events, first) { view in
            guard let text = self.text(view) else { return }
            var isAbsent = false
            if case .absent = view.bridge { isAbsent = true }
            // A failed request and the disappearance of btcalld are one change.
            guard text != last, !(isAbsent && wasAbsent) else { return }
            wasAbsent = isAbsent
            if last != nil && !isJSON { output.print("") }
            last = text
            if isJSON { output.printJSONDocument(text) } else { output.printDocument(text) }
        }
        let watch = Task { @ControlPlane in await follower.run(events) }
        let signals = try Self.ends.map { try ControlLoop.shared.onSignal($0) { watch.cancel() } }
        await watch.value
        for signal in signals { signal.cancel() }
    }

    /// The text with its final newline; nil while the answer is incomplete.
    private func text(_ view: LiveView) -> String? {
        switch view.bridge {
        case .absent(let message):
            if !isJSON { return "\(message); waiting for it\n" }
            let object: JSON = ["state": "absent", "message": .string(message)]
            return object.text() + "\n"
        case .present(let status):
            guard isJSON || view.decision != nil else { return nil }
            return isJSON
                ? status.json.text() + "\n" : StatusCommand.lines(status, view.decision).map { $0.text + "\n" }.joined()
        }
    }

    private static let ends = [SIGINT, SIGTERM, SIGHUP]
}
