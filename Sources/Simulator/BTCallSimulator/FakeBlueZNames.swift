/// Names of BlueZ that the fake implements.
enum FakeBlueZNames {
    static let service = "org.bluez"
    static let managerPath = "/org/bluez"
    static let error = "org.bluez.Error."

    static let agent = "org.bluez.Agent1"
    static let agentManager = "org.bluez.AgentManager1"
    static let adapter = "org.bluez.Adapter1"
    static let battery = "org.bluez.Battery1"
    static let batteryManager = "org.bluez.BatteryProviderManager1"
    static let batteryProvider = "org.bluez.BatteryProvider1"
    static let device = "org.bluez.Device1"
    static let gattCharacteristic = "org.bluez.GattCharacteristic1"
    static let gattService = "org.bluez.GattService1"
    static let media = "org.bluez.Media1"
    static let mediaEndpoint = "org.bluez.MediaEndpoint1"
    static let mediaTransport = "org.bluez.MediaTransport1"
    static let player = "org.mpris.MediaPlayer2.Player"
    static let profile = "org.bluez.Profile1"
    static let profileManager = "org.bluez.ProfileManager1"

    static let objectManager = "org.freedesktop.DBus.ObjectManager"
    static let properties = "org.freedesktop.DBus.Properties"
}
