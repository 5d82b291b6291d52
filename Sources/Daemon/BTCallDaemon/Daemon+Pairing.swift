import BTCallAPI
import BluetoothTypes
import BoardControl
import BusObjects
import CallControl
import Configuration
import ControlLoop
import HeadsetControl
import Logging

// Pairing without a screen: who is asked, and what the board has for it.
extension Daemon {
    package func joinPairing() {
        pairing.hasCalls = { [weak self] in !(self?.calls.calls.isEmpty ?? true) }
        pairingObject = PairingObject(bus: bus, pairing: pairing)
        guard let specification = configuration.pairing.button, let source = outside.board else { return }
        let button = PairingButton(specification, source: source, problems: problems, logger: logger)
        button.onPressed = { [weak self] in self?.pairingButtonPressed() }
        pairingButton = button
    }

    /// Opens a window as the configuration has it; closes the one that is open.
    private func pairingButtonPressed() {
        let wanted = configuration.pairing
        Task { @ControlPlane [pairing, logger] in
            let who = "the pairing button"
            do throws(APIError) {
                if pairing.state != .closed { return try pairing.close(by: who) }
                try await pairing.open(seconds: wanted.seconds, allow: wanted.allow, by: who)
            } catch {
                logger.warning("pairing: \(who) was pressed in vain: \(error)")
            }
        }
    }
}
