import BTCallSimulator
import BluetoothTypes
import ControlLoop

/// One headset of a sandbox, as the person sees it: on, off or out of reach, with one button.
@ControlPlane
final class SandboxHeadset {
    let address: BluetoothAddress
    let name: String
    let codecs: [VoiceCodec]
    /// A call began to ring.
    var onRing: (@ControlPlane () -> Void)?
    private var isRinging = false
    private let bluez: FakeBlueZ
    private let simulation: SimulatedEnvironment
    private let device: VirtualHeadset
    private(set) var state = SandboxState.Power.off
    private var isTalkPressed = false

    init(
        _ address: BluetoothAddress, name: String, codecs: [VoiceCodec], bluez: FakeBlueZ,
        simulation: SimulatedEnvironment
    ) {
        self.address = address
        self.name = name
        self.codecs = codecs
        self.bluez = bluez
        self.simulation = simulation
        device = VirtualHeadset(.init(address: address, name: name, codecs: codecs.reversed()))
        device.onEvent = { [weak self] in self?.handle($0) }
    }

    private func handle(_ event: VirtualHeadset.Event) {
        switch event {
        case .ring:
            if !isRinging { onRing?() }
            isRinging = true
        case .indicator("callsetup", _), .closed: isRinging = false
        case .serviceLevelConnectionUp, .indicator, .callerID, .codecSelected, .speakerVolume, .microphoneVolume,
            .refused:
            break
        }
    }

    /// Switches the headset on: it connects to the board on its own.
    func switchOn() async throws {
        guard state != .on else { return }
        // A returning headset reveals that its old connection was lost, even before the supervision timeout.
        forgetConnection()
        simulation.revive(address)
        try device.attach(try await bluez.connect(address))
        state = .on
    }

    /// The headset closes its connection before it goes.
    func switchOff() {
        forgetConnection()
        state = .off
    }

    /// The radio fails in the middle of a word; bluetoothd notices it three seconds later.
    func kill() {
        guard state == .on else { return }
        device.dieSilently()
        simulation.die(address)
        bluez.vanish(address, noticedAfter: .seconds(3))
        state = .dead
    }

    /// Presses the talk key, or releases it.
    ///
    /// - Parameter isLink: the key opens and closes the voice link; otherwise the headset sends an AT command.
    /// - Returns: whether it is pressed now; nil when the headset is not on.
    func toggleTalk(byLink isLink: Bool) -> Bool? {
        guard state == .on, device.isConnected else { return nil }
        isTalkPressed.toggle()
        switch (isLink, isTalkPressed) {
        case (false, let isPressed): device.talk(isPressed)
        case (true, true): simulation.openLink(address)
        case (true, false): simulation.closeLink(address)
        }
        return isTalkPressed
    }

    private func forgetConnection() {
        isTalkPressed = false
        bluez.disconnect(address)
        device.detach()
        bluez.setReachable(false, address)
    }

    /// Presses the one button: it answers, ends or redials, depending on the indicators, like a real headset.
    ///
    /// - Returns: the action; nil when the headset is not on.
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
