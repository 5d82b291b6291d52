package import ArgumentParser
package import BTCall
import ControlLoop
import Synchronization

/// A word that a shell offers as completion. A candidate is one line, so both texts are cleaned.
package struct CompletionCandidate: Hashable, Sendable {
    package let word: String
    /// Short meaning; may be empty. bash does not show it.
    package let meaning: String

    package init(_ word: String, _ meaning: String = "") {
        self.word = PrintableText.line(word)
        self.meaning = PrintableText.line(meaning)
    }

    /// Queries the running btcalld for at most one second; does not start it.
    ///
    /// - Parameter words: the command line as far as it is typed, which may contain `--bus`.
    /// - Returns: an empty list when btcalld does not run or does not answer: completion reports no errors.
    package static func fromDaemon(
        _ words: [String], _ ask: @escaping @Sendable @ControlPlane (CallBridge) async throws -> [CompletionCandidate]
    ) -> [CompletionCandidate] {
        let bus = Self.bus(in: words)
        let found = Mutex<[CompletionCandidate]>([])
        _ = runOnControlLoop {
            let timeout = ControlLoop.shared.schedule(after: .seconds(1)) { ControlLoop.shared.stop() }
            do {
                let bridge = try await CallBridge(bus: bus)
                for await event in await bridge.events() {
                    guard case .daemonAppeared = event else { break }
                    let candidates = try await ask(bridge)
                    found.withLock { $0 = candidates }
                    break
                }
            } catch {
                // No candidates then.
            }
            timeout.cancel()
            return 0
        }
        return found.withLock { $0 }
    }

    /// The bus on a command line, or the usual one.
    package static func bus(in words: [String]) -> BridgeBus {
        for (index, word) in words.enumerated() {
            let prefix = "--bus="
            let text = word.hasPrefix(prefix) ? String(word.dropFirst(prefix.count)) : nil
            let next = word == "--bus" && index + 1 < words.count ? words[index + 1] : nil
            if let bus = (text ?? next).flatMap({ BridgeBus($0) }) { return bus }
        }
        return CommonOptions.usualBus()
    }

    /// The candidates in the shell's format, one a line.
    package static func lines(
        _ candidates: [CompletionCandidate], for shell: CompletionShell? = CompletionShell.requesting
    ) -> [String] {
        candidates.map { candidate in
            switch shell {
            case .zsh:
                // For _describe, a colon separates word and meaning.
                let word = candidate.word.replacing(":", with: "\\:")
                return candidate.meaning.isEmpty ? word : "\(word):\(candidate.meaning)"
            case .fish: return candidate.meaning.isEmpty ? candidate.word : "\(candidate.word)\t\(candidate.meaning)"
            default: return candidate.word
            }
        }
    }
}
