import AudioPaths
import BTCallAPI
package import BluetoothTypes
package import Configuration
package import ControlLoop
package import Diagnostics

/// The light that blinks while a pairing window is open, and is on while a headset is being paired (`[pairing] led`).
@ControlPlane
package final class PairingLight {
    /// Time between two changes.
    package static let period = Duration.milliseconds(500)

    private let output: PrivacyOutput
    private let isThere: Bool
    private var timer: Timer?
    private var isOn = false

    package init(_ specification: PrivacyOutputSpecification?, problems: ProblemList) {
        output = PrivacyOutput(specification, problems: problems, problem: "pairing.led", name: "pairing light")
        isThere = specification != nil
    }

    package func show(_ state: PairingState) {
        timer?.cancel()
        timer = nil
        guard isThere else { return }
        switch state {
        case .closed: set(false)
        case .pairing: set(true)
        case .open: blink()
        }
    }

    /// Switches the light off and releases it.
    package func stop() {
        timer?.cancel()
        timer = nil
        output.stop()
    }

    private func blink() {
        set(!isOn)
        timer = ControlLoop.shared.schedule(after: Self.period) { [weak self] in self?.blink() }
    }

    private func set(_ isOn: Bool) {
        self.isOn = isOn
        output.set(isOn)
    }
}
