/// What muting takes from the far end (FEATURES S1.13 to S1.15).
package enum Muting: Sendable, CaseIterable {
    case off
    /// The microphone: what applications add is still heard.
    case microphone
    /// Everything.
    case everything

    static var everythingNumber: Int64 { @_noLocks get { 2 } }

    /// As a command carries it.
    var number: Int64 {
        switch self {
        case .off: 0
        case .microphone: 1
        case .everything: Self.everythingNumber
        }
    }
}
