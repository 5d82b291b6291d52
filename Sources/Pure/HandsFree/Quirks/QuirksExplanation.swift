/// Rows that apply to a headset, with reasons and results.
package struct QuirksExplanation: Hashable, Sendable {
    package struct Match: Hashable, Sendable {
        package let row: QuirkRow
        /// The conditions that match, in words.
        package internal(set) var reasons: [String]
        /// Reasons why it does not apply; empty for one that applies.
        package internal(set) var obstacles: [String]
    }

    /// An effect in force, and its sources.
    package struct Outcome: Hashable, Sendable {
        package internal(set) var effect: QuirkEffect
        /// Names of rows, or `configuration`.
        package internal(set) var sources: [String]
    }

    /// Represents `[headset ADDRESS]` of the configuration among the sources.
    package static let configuration = "configuration"

    package let subject: QuirkSubject
    /// In the order in which they apply.
    package let applied: [Match]
    /// Rows for this headset that do not apply: another condition does not match, or they are switched off or expired.
    package let near: [Match]
    /// In the order of `QuirkEffect.Key`.
    package let outcomes: [Outcome]

    init(subject: QuirkSubject, applied: [Match], near: [Match], lastWord: [QuirkEffect]) {
        self.subject = subject
        self.applied = applied
        self.near = near
        var outcomes: [QuirkEffect.Key: Outcome] = [:]
        let said = applied.flatMap { match in match.row.effects.map { ($0, match.row.name) } }
        for (effect, source) in said + lastWord.map({ ($0, Self.configuration) }) {
            guard let earlier = outcomes[effect.key], effect.addsUp else {
                outcomes[effect.key] = Outcome(effect: effect, sources: [source])
                continue
            }
            outcomes[effect.key] = Outcome(
                effect: effect.joined(after: earlier.effect), sources: earlier.sources + [source])
        }
        self.outcomes = QuirkEffect.Key.allCases.compactMap { outcomes[$0] }
    }

    /// All outcomes combined.
    package var quirks: Quirks {
        var quirks = Quirks()
        for outcome in outcomes { outcome.effect.apply(to: &quirks) }
        return quirks
    }

    /// One line for the log; nil when nothing applies.
    package var summary: String? {
        guard !outcomes.isEmpty else { return nil }
        return outcomes.map { "\($0.effect) (\($0.sources.joined(separator: ", ")))" }.joined(separator: "; ")
    }
}
