import ArgumentParser
import BTCall
import CommandKit
import ControlLoop
import Foundation
import Synchronization
import Testing

@testable import BTCallCommand

/// What a command line printed, and the code it ended with.
struct CommandRun {
    var status: Int32
    var output: String
    var errors: String

    /// The output as JSON.
    var json: Any? {
        // Nil is what a test then complains about.
        try? JSONSerialization.jsonObject(with: Data(output.utf8), options: .fragmentsAllowed)
    }

    var object: [String: Any] { json as? [String: Any] ?? [:] }
    var array: [[String: Any]] { json as? [[String: Any]] ?? [] }

    /// Runs a verb in this process.
    static func btcall(_ arguments: String..., bus: PrivateBus) async throws -> CommandRun {
        try await btcall(arguments, bus: bus)
    }

    static func btcall(_ arguments: [String], bus: PrivateBus) async throws -> CommandRun {
        // What follows -- is another program's.
        let own = arguments.firstIndex(of: "--") ?? arguments.endIndex
        let command = try parse(arguments[..<own] + ["--bus", bus.address] + arguments[own...])
        let capture = Capture()
        let status = await exitStatus(capture.sink) {
            let bridge = try await CallBridge(bus: command.options.bus)
            do {
                try await command.perform(on: bridge, capture.sink)
            } catch {
                await bridge.close()
                throw error
            }
            await bridge.close()
        }
        return CommandRun(status: status, output: capture.output, errors: capture.errors)
    }

    static func parse(_ arguments: [String]) throws -> any BridgeCommand {
        try #require(try Entry.parseAsRoot(arguments) as? any BridgeCommand)
    }
}

/// Keeps what is printed, and lets a test wait for a part of it.
final class Capture: Sendable {
    private struct Texts {
        var output = ""
        var errors = ""
        var waiting: [(text: String, times: Int, continuation: CheckedContinuation<Void, Never>)] = []

        func contains(_ text: String, times: Int) -> Bool { output.ranges(of: text).count >= times }
    }

    private let texts = Mutex(Texts())

    var output: String { texts.withLock(\.output) }
    var errors: String { texts.withLock(\.errors) }

    var sink: Output {
        Output(
            write: { text in self.add { $0.output += text } }, writeError: { text in self.add { $0.errors += text } })
    }

    /// Returns as soon as the output contains `text` so many times; a test's time limit ends the wait.
    func contains(_ text: String, times: Int = 1) async {
        await withCheckedContinuation { continuation in
            let isThere = texts.withLock { texts in
                if texts.contains(text, times: times) { return true }
                texts.waiting.append((text, times, continuation))
                return false
            }
            if isThere { continuation.resume() }
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
