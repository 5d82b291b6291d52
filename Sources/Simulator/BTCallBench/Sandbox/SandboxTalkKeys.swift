import BTCallSimulator
import BluetoothTypes
import Configuration
import ControlLoop
import DBus
import Talk
import TalkWords

/// The talk keys of a sandbox: headset 1 sends an AT command, headset 2 opens its voice link, and there are two buttons, one
/// with a serial port and one of Bluetooth Low Energy.
@ControlPlane
final class SandboxTalkKeys {
    private static let serialButton = BluetoothAddress(value: 0x0000_5E00_5303)
    private static let lowEnergyButton = BluetoothAddress(value: 0x0000_5E00_5304)

    private let bluez: FakeBlueZ
    private let button = VirtualButton()
    private var isSerialPressed = false
    private var isLowEnergyPressed = false

    init(_ bluez: FakeBlueZ) {
        self.bluez = bluez
    }

    /// Adds the buttons, in reach: btcalld connects them.
    func addButtons() {
        bluez.addSerialDevice(Self.serialButton, name: "serial button")
        bluez.addLowEnergyDevice(Self.lowEnergyButton, name: "low energy button")
        bluez.onSerialConnected = { [button] _, descriptor in
            // A button that cannot be attached is off: the daemon connects it again.
            try? button.attach(descriptor)
        }
    }

    /// - Returns: whether it is pressed now; nil when it is not connected.
    func toggleSerial() -> Bool? {
        guard button.isConnected else { return nil }
        isSerialPressed.toggle()
        if isSerialPressed { button.press() } else { button.release() }
        return isSerialPressed
    }

    /// - Returns: whether it is pressed now; nil when btcalld does not listen to it.
    func toggleLowEnergy() -> Bool? {
        guard bluez.notify([isLowEnergyPressed ? 0 : 1], from: Self.lowEnergyButton) else { return nil }
        isLowEnergyPressed.toggle()
        return isLowEnergyPressed
    }

    /// - Parameters:
    ///   - mode: a word of `[talk] mode`.
    ///   - linkHeadset: the headset whose key is its voice link.
    static func configure(
        _ configuration: inout Configuration, mode: String, linkHeadset: BluetoothAddress
    ) throws(ConfigurationError) {
        configuration.talk.mode = TalkMode(rawValue: mode) ?? .push
        configuration.talkRows = try TalkRows(
            parsing: Array(
                """
                [database]
                format = 1
                [key link]
                address = \(linkHeadset)
                protocol = link
                reference = the sandbox
                [key serial]
                address = \(serialButton)
                protocol = serial
                press = \(VirtualButton.Words.usual.pressed)
                release = \(VirtualButton.Words.usual.released)
                reference = the sandbox
                [key low-energy]
                address = \(lowEnergyButton)
                protocol = notification
                service = FFE0
                characteristic = FFE1
                press = 0x01
                release = 0x00
                reference = the sandbox

                """.utf8), file: "sandbox", origin: .admin)
    }
}
