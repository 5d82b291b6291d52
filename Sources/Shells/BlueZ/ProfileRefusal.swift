import BluetoothTypes
package import DBus

extension ProfileRegistration {
    /// Why bluetoothd does not register our profile, and what to do.
    package struct Refusal: Equatable, Sendable {
        package enum Cause: Equatable, Sendable {
            /// Another program has the UUID; candidates on the bus, likeliest first.
            case alreadyRegistered([BusPeer])
            /// The bus does not let this user talk to bluetoothd.
            case notPermitted(BusError)
            /// bluetoothd does not answer, or answers with another error.
            case failed(BusError)
        }

        package let configuration: Configuration
        package let cause: Cause
    }
}

extension ProfileRegistration.Refusal: CustomStringConvertible {
    /// One line that names the likely owner and the remedy.
    package var description: String {
        let profile = "\(configuration.name) (\(configuration.uuid.text))"
        switch cause {
        case .alreadyRegistered(let peers):
            guard let likeliest = peers.first else {
                return """
                    another program has registered \(profile) with bluetoothd, and none that is known to do so is on \
                    this bus: look for it with `busctl list`, and check that bluetoothd was not started with \
                    --experimental; btcall tries again every \(configuration.retryInterval)
                    """
            }
            let others = peers.dropFirst().map { "; it may also be \($0): \($0.remedy)" }.joined()
            return """
                another program has registered \(profile) with bluetoothd, probably \(likeliest): \(likeliest.remedy)\
                \(others); btcall takes over when it leaves
                """
        case .notPermitted(let error):
            return """
                the bus does not let this user register \(profile) with bluetoothd: add it to the group `bluetooth`, or \
                install the policy file of btcall (\(error))
                """
        case .failed(let error):
            return "bluetoothd did not register \(profile): \(error); see `journalctl -u bluetooth`"
        }
    }
}
