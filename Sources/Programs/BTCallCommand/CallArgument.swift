import ArgumentParser
import BTCall
import CommandKit

/// Finds the call named on a command line.
enum CallArgument {
    static let help = ArgumentHelp(
        "The call's number as `btcall calls` lists it, its id, or the beginning of its id.", valueName: "call")

    /// The numbers of the present calls.
    static let completion = CompletionKind.custom { words, _, _ in
        CompletionCandidate.lines(
            CompletionCandidate.fromDaemon(words) { bridge in
                try await bridge.calls.list()
                    .map { CompletionCandidate(String($0.index), "\($0.state.rawValue), \($0.party)") }
            })
    }

    /// - Parameters:
    ///   - text: the typed text; nil for the obvious call.
    ///   - groups: without `text`, the states to consider; the first group that has a call decides.
    ///   - absent: the failure's text when no group has a call.
    /// - Throws: ``CommandFailure`` when no call matches, or more than one.
    static func choose(
        _ text: String?, among calls: [Call], in groups: [Set<Call.State>], absent: String
    ) throws -> Call {
        if let text { return try find(text, among: calls) }
        for states in groups {
            let matching = calls.filter { states.contains($0.state) }
            if matching.count > 1 {
                throw CommandFailure(
                    .ambiguous, "more than one call is \(matching[0].state.rawValue): name one: \(list(matching))")
            }
            if let call = matching.first { return call }
        }
        throw CommandFailure(.noSuchCall, absent)
    }

    private static func find(_ text: String, among calls: [Call]) throws -> Call {
        if let index = Int(text), let call = calls.first(where: { $0.index == index }) { return call }
        let matching = calls.filter { $0.id.description.hasPrefix(text.lowercased()) }
        if matching.count == 1 { return matching[0] }
        let problem = matching.isEmpty ? "there is no call \(text)" : "more than one call begins with \(text)"
        throw CommandFailure(
            matching.isEmpty ? .noSuchCall : .ambiguous,
            calls.isEmpty ? problem : "\(problem): there are \(list(calls))")
    }

    private static func list(_ calls: [Call]) -> String {
        calls.map { "\($0.index) (\($0.party), \($0.id))" }.joined(separator: ", ")
    }
}
