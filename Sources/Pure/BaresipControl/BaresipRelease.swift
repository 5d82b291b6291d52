/// A release of baresip that `BaresipFollower` was made for, recognised by the form of its lists.
package enum BaresipRelease: String, Sendable, CaseIterable {
    /// Debian 12.
    case v1dot0 = "1.0"
    /// Debian 13. Its lists have the calls' ids, `listcalls` has all accounts, and a dialled call has its id at once.
    case v1dot1 = "1.1"

    /// What it cannot do, as the end of a sentence.
    package var limits: String {
        switch self {
        case .v1dot0: "it does not report when the far end holds a call, which stays active here"
        case .v1dot1:
            "it dials with the first account that has the domain of the address, and keeps a held call on hold when the "
                + "other call ends"
        }
    }
}
