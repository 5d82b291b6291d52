/// Where a running baresip is, and whether it is followed (`[provider baresip]`).
package struct BaresipConfiguration: Equatable, Sendable {
    package var isFollowed = false
    /// IPv4, in four decimal parts.
    package var address = "127.0.0.1"
    package var port = 4444
    /// The address of record of the account that dials; nil leaves it to baresip.
    package var account: String?

    package init() {}

    package var isLoopback: Bool { address.hasPrefix("127.") }
}
