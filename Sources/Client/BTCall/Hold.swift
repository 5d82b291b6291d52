import BTCallAPI
import DBus
import Glibc

/// A temporary state of the bridge, held by this object: a selection, an interruption, an active session.
///
/// It ends with ``release()``, with the last reference to this object, and with this process, however that ends.
public final class Hold: Sendable {
    private let descriptor: PassedDescriptor

    /// - Throws: `.failed` when the daemon's answer has no descriptor.
    init(_ answer: [Value], of member: String) throws(BridgeError) {
        guard let descriptor = answer.first?.descriptorValue else {
            throw BridgeError(.failed, "btcalld answered \(member) without a descriptor")
        }
        self.descriptor = descriptor
    }

    /// Ends the state now. A second call does nothing.
    public func release() {
        let number = descriptor.take()
        if number >= 0 { close(number) }
    }
}
