/// One row of the quirks database: its conditions, effects and reason.
package struct QuirkRow: Hashable, Sendable {
    /// Origin of a row.
    package enum Origin: String, Hashable, Sendable, CaseIterable {
        case shipped, admin
    }

    /// Whether it may apply.
    package enum State: Hashable, Sendable {
        case active
        case expired(CalendarDate)
        /// By the row itself or by one of the same name in the administrator's file.
        case off
    }

    package let name: String
    package let origin: Origin
    package let line: Int
    /// All have to match.
    package let conditions: [QuirkCondition]
    package let effects: [QuirkEffect]
    /// Advice for the user, where the daemon can do nothing.
    package let advice: String?
    package let reference: String
    package let reason: String
    /// First day on which the row no longer applies.
    package let expires: CalendarDate?
    package internal(set) var isEnabled: Bool

    package func state(on today: CalendarDate) -> State {
        guard isEnabled else { return .off }
        if let expires, expires <= today { return .expired(expires) }
        return .active
    }
}
