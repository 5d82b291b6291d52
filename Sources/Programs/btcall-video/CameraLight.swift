import BTCall
import BTCallAPI
import ControlLoop
import DBus

/// Tells btcalld whether a camera is in use, for the light of `[privacy] led`.
@ControlPlane
final class CameraLight {
    private let bridge: CallBridge
    private var watch: Subscription?
    private var isOn = false
    /// What btcalld was told last.
    private var told = false
    private var isTelling = false

    init(_ bridge: CallBridge, _ bus: BusConnection) {
        self.bridge = bridge
        watch = bus.watchName(BTCallName.bus) { [weak self] _ in
            // Another daemon knows nothing yet.
            self?.told = false
            self?.tell()
        }
    }

    func set(_ isInUse: Bool) {
        isOn = isInUse
        tell()
    }

    private func tell() {
        guard isOn != told, !isTelling else { return }
        isTelling = true
        let isOn = isOn
        Task { @ControlPlane [self] in
            do throws(BridgeError) {
                try await bridge.reportCameraUse(isOn)
            } catch {
                // Without btcalld there is no light; it is told when it comes. An older one has none for cameras.
            }
            isTelling = false
            told = isOn
            tell()
        }
    }
}
