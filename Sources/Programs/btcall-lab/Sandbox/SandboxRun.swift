import BTCallBench
import CommandKit
import ControlLoop
import Glibc

/// A sandbox operated by keys: full screen on a terminal, otherwise lines.
@ControlPlane
final class SandboxRun {
    private var sandbox: Sandbox?
    private let options: SandboxOptions
    private let output: Output
    private let style: TerminalStyle
    private let screen: TerminalScreen?
    private var view: SandboxView
    private var signals: [SignalSource] = []
    private var input: DescriptorSource?
    private var rest: [UInt8] = []
    /// Keys to handle, in order; nil is the end.
    private var keys: [Character] = []
    private var isEnding = false
    private static let storyLength = 200

    init(_ options: SandboxOptions, output: Output, style: TerminalStyle) {
        self.options = options
        self.output = output
        self.style = style
        screen = isatty(STDIN_FILENO) == 1 ? TerminalScreen(write: output.write) : nil
        view = SandboxView(state: SandboxState(bus: ""), now: .now)
    }

    /// Returns after `q`, the end of the input, SIGINT, SIGTERM or SIGHUP. Restores the terminal, even when it throws.
    func run() async throws {
        // Before any thread starts: threads inherit the blocked signals, which the control loop handles.
        try handleSignals()
        defer {
            screen?.leave()
            input?.cancel()
            for signal in signals { signal.cancel() }
        }
        let sandbox = try Sandbox(options)
        self.sandbox = sandbox
        view.state = sandbox.state
        sandbox.onStory = { [weak self] in self?.tell($0) }
        do {
            try await sandbox.start()
            try begin()
            await follow()
        } catch {
            await sandbox.stop()
            throw error
        }
        screen?.leave()
        await sandbox.stop()
        for file in try sandbox.writeRecordings() { output.print("recorded: \(file)") }
    }

    private func handleSignals() throws {
        signals = try [SIGINT, SIGTERM, SIGHUP].map { signal in
            try ControlLoop.shared.onSignal(signal) { [weak self] in self?.isEnding = true }
        }
        guard let screen else { return }
        signals.append(try ControlLoop.shared.onSignal(SIGWINCH) { [weak self] in self?.draw() })
        signals.append(
            try ControlLoop.shared.onSignal(SIGTSTP) { [weak self] in
                screen.leave()
                kill(getpid(), SIGSTOP)
                // Continues here after SIGCONT.
                self?.enter()
            })
    }

    private func begin() throws {
        if screen != nil { return enter() }
        output.print("--bus \(view.state.bus)")
        let shown = SandboxKey.allCases.filter { view.state.talkMode != nil || !SandboxKey.talk.contains($0) }
        let keys = shown.map { "\($0.rawValue) \($0.meaning)" }
        output.print("keys: \(keys.joined(separator: ", ")), . wait a second, q quit")
        do {
            input = try ControlLoop.shared.add(STDIN_FILENO, .readable) { [weak self] _ in self?.readLines() }
        } catch {
            // Reads a file as a whole: epoll refuses files, and they are always readable.
            while !isAtEnd { readLines() }
        }
    }

    private var isAtEnd: Bool { keys.last == Self.quit }
    private static let quit: Character = "q"

    private func enter() {
        screen?.enter { [weak self] in self?.keys.append($0) }
        draw()
    }

    /// Handles keys as they arrive, and updates the view ten times a second.
    private func follow() async {
        var ticks = 0
        while !isEnding {
            if !keys.isEmpty {
                await perform(keys.removeFirst())
                continue
            }
            await ControlLoop.shared.sleep(for: .milliseconds(50))
            ticks += 1
            if ticks % 2 == 0 { look() }
        }
    }

    private func perform(_ key: Character) async {
        switch key {
        case "q", "Q": isEnding = true
        case ".":
            for _ in 0..<10 where !isEnding {
                await ControlLoop.shared.sleep(for: .milliseconds(100))
                look()
            }
        case " ", "\r", "\n", "\r\n": break
        default:
            guard let known = SandboxKey(rawValue: key) else { return tell("no such key: \(key)") }
            await sandbox?.perform(known)
        }
    }

    // MARK: Display

    private func look() {
        guard let sandbox else { return }
        let before = view.state
        sandbox.look()
        view.state = sandbox.state
        if screen != nil { return draw() }
        for (old, new) in zip(before.devices, view.state.devices) {
            hear(new.name, old.heard, new.heard)
        }
        hear("far end", before.farEndHeard, view.state.farEndHeard)
        if before.route != view.state.route || before.why != view.state.why {
            let route = [view.state.route, view.state.link].filter { !$0.isEmpty }.joined(separator: " ")
            output.print("route: \(route), why: \(view.state.why)")
        }
    }

    /// Without a screen: reports who begins to hear something, ignoring pauses between words.
    private func hear(_ name: String, _ before: Int, _ now: Int) {
        let isHearing = now > SandboxView.silence
        let count = isHearing ? 0 : (quiet[name] ?? Self.quietLooks) + 1
        if isHearing, quiet[name] ?? Self.quietLooks >= Self.quietLooks { output.print("\(name) hears speech") }
        if count == Self.quietLooks { output.print("\(name) hears silence") }
        quiet[name] = count
    }

    /// Number of consecutive updates for which each device has heard nothing.
    private var quiet: [String: Int] = [:]
    private static let quietLooks = 15

    private func draw() {
        view.now = .now
        screen?.show(style, view.lines)
    }

    private func tell(_ text: String) {
        let line = "\(WallClock.now.timeOfDay.prefix(8))  \(text)"
        guard screen != nil else { return output.print(line) }
        view.story.append(line)
        if view.story.count > Self.storyLength { view.story.removeFirst() }
        draw()
    }

    // MARK: Lines

    private func readLines() {
        var bytes = [UInt8](repeating: 0, count: 1024)
        let count = read(STDIN_FILENO, &bytes, bytes.count)
        if count < 0, errno == EINTR || errno == EAGAIN { return }
        guard count > 0 else {
            input?.cancel()
            input = nil
            keys.append(Self.quit)
            return
        }
        for byte in bytes[..<count] { keys.append(Character(Unicode.Scalar(byte))) }
    }
}
