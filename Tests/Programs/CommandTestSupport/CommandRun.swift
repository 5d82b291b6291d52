package import ArgumentParser
import BTCall
package import CommandKit
import ControlLoop
import Foundation
import Synchronization
import Testing

/// Output and exit code of a command line.
package struct CommandRun {
    package var status: Int32
    package var output: String
    package var errors: String

    package init(status: Int32, output: String, errors: String) {
        self.status = status
        self.output = output
        self.errors = errors
    }

    /// The output as JSON.
    package var json: Any? {
        // Nil makes the test fail.
        try? JSONSerialization.jsonObject(with: Data(output.utf8), options: .fragmentsAllowed)
    }

    package var object: [String: Any] { json as? [String: Any] ?? [:] }
    package var array: [[String: Any]] { json as? [[String: Any]] ?? [] }

    /// Runs a verb of a program in this process.
    ///
    /// - Parameter root: the program's first command.
    package static func of(
        _ root: any ParsableCommand.Type, _ arguments: [String], bus: PrivateBus,
        oldNames: [CommandWords.OldName] = []
    ) async throws -> CommandRun {
        // Words after -- belong to another program.
        let own = arguments.firstIndex(of: "--") ?? arguments.endIndex
        let command = try parse(
            root, arguments[..<own] + ["--bus", bus.address] + arguments[own...], oldNames: oldNames)
        let capture = Capture()
        var sink = capture.sink
        sink.reportsJSON = command.options.json
        let output = sink
        let status = await exitStatus(output) {
            let bridge = try await CallBridge(bus: command.options.bus)
            do {
                try await command.perform(on: bridge, output)
            } catch {
                await bridge.close()
                throw error
            }
            await bridge.close()
        }
        return CommandRun(status: status, output: capture.output, errors: capture.errors)
    }

    package static func parse(
        _ root: any ParsableCommand.Type, _ arguments: [String], oldNames: [CommandWords.OldName] = []
    ) throws -> any BridgeCommand {
        let words = CommandWords.arranged(arguments, of: root, oldNames)
        return try #require(try root.parseAsRoot(words) as? any BridgeCommand)
    }
}

/// Collects output, and lets a test wait for a part of it.
package final class Capture: Sendable {
    private struct Texts {
        var output = ""
        var errors = ""
        var waiting: [(text: String, times: Int, continuation: CheckedContinuation<Void, Never>)] = []

        func contains(_ text: String, times: Int) -> Bool { output.ranges(of: text).count >= times }
    }

    private let texts = Mutex(Texts())

    package init() {}

    package var output: String { texts.withLock(\.output) }
    package var errors: String { texts.withLock(\.errors) }

    package var sink: Output {
        Output(
            write: { text in self.add { $0.output += text } }, writeError: { text in self.add { $0.errors += text } })
    }

    /// Returns once the output contains `text` this many times, or when a test's time limit cancels its task.
    package func contains(_ text: String, times: Int = 1) async {
        await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let isOver = texts.withLock { texts in
                    if Task.isCancelled || texts.contains(text, times: times) { return true }
                    texts.waiting.append((text, times, continuation))
                    return false
                }
                if isOver { continuation.resume() }
            }
        } onCancel: {
            let waiting = texts.withLock { texts in
                defer { texts.waiting = [] }
                return texts.waiting
            }
            for waiter in waiting { waiter.continuation.resume() }
        }
    }

    private func add(_ change: (inout Texts) -> Void) {
        let ready = texts.withLock { texts in
            change(&texts)
            let now = texts
            texts.waiting.removeAll { now.contains($0.text, times: $0.times) }
            return now.waiting.filter { now.contains($0.text, times: $0.times) }
        }
        for waiter in ready { waiter.continuation.resume() }
    }
}
