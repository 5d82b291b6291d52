/// The names of BlueZ that the fake answers to.
enum FakeBlueZNames {
    static let service = "org.bluez"
    static let managerPath = "/org/bluez"
    static let error = "org.bluez.Error."

    static let adapter = "org.bluez.Adapter1"
    static let battery = "org.bluez.Battery1"
    static let batteryManager = "org.bluez.BatteryProviderManager1"
    static let batteryProvider = "org.bluez.BatteryProvider1"
    static let device = "org.bluez.Device1"
    static let profile = "org.bluez.Profile1"
    static let profileManager = "org.bluez.ProfileManager1"

    static let objectManager = "org.freedesktop.DBus.ObjectManager"
    static let properties = "org.freedesktop.DBus.Properties"
}
