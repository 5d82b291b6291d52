import ControlLoop

/// The program at the other end of a connection.
enum WebPeer: Hashable, Sendable, CustomStringConvertible {
    /// - address: numeric, without the port.
    case network(address: String)
    /// On the Unix socket.
    /// - isMember: whether it is root, or in the group `btcall`.
    case local(user: UInt32, isMember: Bool)

    var description: String {
        switch self {
        case .network(let address): address
        case .local(let user, _): "user \(user)"
        }
    }

    var isNetwork: Bool {
        if case .network = self { true } else { false }
    }

    /// - Parameter group: the number of the group `btcall`; nil if the machine has no such group.
    static func local(_ peer: SocketPeer, group: UInt32?) -> WebPeer {
        .local(user: peer.user, isMember: peer.user == 0 || group.map(peer.groups.contains) ?? false)
    }
}
