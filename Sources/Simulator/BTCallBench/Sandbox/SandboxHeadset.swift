import BTCallSimulator
import BluetoothTypes
import ControlLoop

/// One headset of a sandbox, as the person has it: on, off or out of reach, with one button.
@ControlPlane
final class SandboxHeadset {
    let address: BluetoothAddress
    let name: String
    let codecs: [VoiceCodec]
    private let bluez: FakeBlueZ
    private let outside: SimulatedOutside
    private let device: VirtualHeadset
    private(set) var state = SandboxState.Power.off

    init(
        _ address: BluetoothAddress, name: String, codecs: [VoiceCodec], bluez: FakeBlueZ, outside: SimulatedOutside
    ) {
        self.address = address
        self.name = name
        self.codecs = codecs
        self.bluez = bluez
        self.outside = outside
        device = VirtualHeadset(.init(address: address, name: name, codecs: codecs.reversed()))
    }

    /// Switches it on: it comes to the board by itself.
    func switchOn() async throws {
        guard state != .on else { return }
        // A headset that comes back is found to have been gone, whether the supervision timeout has passed or not.
        forgetConnection()
        outside.revive(address)
        try device.attach(try await bluez.connect(address))
        state = .on
    }

    /// The headset closes its connection before it goes.
    func switchOff() {
        forgetConnection()
        state = .off
    }

    /// The radio is gone in the middle of a word; bluetoothd notices three seconds later.
    func kill() {
        guard state == .on else { return }
        device.dieSilently()
        outside.die(address)
        bluez.vanish(address, noticedAfter: .seconds(3))
        state = .dead
    }

    private func forgetConnection() {
        bluez.disconnect(address)
        device.detach()
        bluez.setReachable(false, address)
    }

    /// Presses the one button: it answers, ends or redials, as headsets do by what they are shown.
    ///
    /// - Returns: what it meant; nil when the headset is not on.
    func press() -> String? {
        guard state == .on, device.isConnected else { return nil }
        let (call, setup) = (device.indicators["call"] ?? 0, device.indicators["callsetup"] ?? 0)
        let button: VirtualHeadset.Button = setup == 1 ? .answer : call > 0 || setup > 1 ? .hangUp : .redial
        device.press(button)
        return switch button {
        case .answer: "answer"
        case .hangUp: "hang up"
        case .redial, .transfer: "redial"
        }
    }
}
