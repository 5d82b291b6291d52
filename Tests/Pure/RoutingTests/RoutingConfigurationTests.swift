import BluetoothTypes
import Routing
import Testing

@Suite struct RoutingConfigurationTests {
    @Test(arguments: RoutingKey.allCases)
    func `every key reads its own default and has a line of documentation`(_ key: RoutingKey) throws {
        var configuration = RoutingConfiguration()
        try configuration.set(key: key.rawValue, value: RoutingConfiguration.defaultValue(of: key))
        #expect(configuration == RoutingConfiguration())
        #expect(key.documentation.first?.isLowercase == true && key.documentation.last != ".")
        #expect(!key.type.accepted.isEmpty)
    }

    @Test(arguments: [
        ("exclude", "earpiece, bluetooth:00:1B:DC:08:00:11"), ("headsetOrder", "00:1B:DC:08:00:11, 00:1B:DC:08:00:12"),
        ("newHeadset", "take"), ("jackGesture", "latched"), ("jackMasksEarpiece", "false"),
        ("microphoneEnabled", "false"), ("allowBluetoothA2DP", "true"), ("inbandRing", "false"), ("ringLocal", "false"),
        ("manualAudio", "true"), ("manualRendering", "true"), ("releaseOnHold", "true"), ("systemDevice", "earpiece"),
        ("openAttempts", "5"), ("settleBluetoothMilliseconds", "1"), ("silentLimitMilliseconds", "200"),
        ("mediaRestoreMilliseconds", "0"),
    ])
    func `a value is printed as it was set`(_ key: String, _ value: String) throws {
        var configuration = RoutingConfiguration()
        try configuration.set(key: key, value: value)
        let known = try #require(RoutingKey(rawValue: key))
        #expect(configuration.value(of: known) == value)
        #expect(configuration != RoutingConfiguration())
    }

    @Test(arguments: ["yes", "on", "1", " true\t"])
    func `booleans have the usual spellings`(_ text: String) throws {
        var configuration = RoutingConfiguration()
        try configuration.set(key: "manualAudio", value: text)
        #expect(configuration.manualAudio)
    }

    @Test(arguments: [
        ("settleMs", "1", "unknown key 'settleMs'; accepted: exclude, headsetOrder, newHeadset,"),
        ("newHeadset", "steal", "newHeadset: 'steal' is not accepted; accepted: stay, take"),
        ("jackGesture", "", "jackGesture: '' is not accepted; accepted: off, midCall, latched"),
        ("inbandRing", "maybe", "inbandRing: 'maybe' is not accepted; accepted: true or false"),
        (
            "settleBluetoothMilliseconds", "-1",
            "settleBluetoothMilliseconds: '-1' is not accepted; accepted: a whole number from 0 to 3600000"
        ),
        ("settleBluetoothMilliseconds", "1.5", "settleBluetoothMilliseconds: '1.5' is not accepted"),
        (
            "openTimeoutMilliseconds", "99999999999999999999",
            "openTimeoutMilliseconds: '99999999999999999999' is not accepted"
        ),
        ("openAttempts", "0", "openAttempts: '0' is not accepted; accepted: a whole number from 1 to 100"),
        ("systemDevice", "speaker", "systemDevice: 'speaker' is not accepted; accepted: speakerphone, wiredHeadset"),
        ("exclude", "none", "exclude: 'none' is not accepted"),
        ("exclude", "earpiece,,speakerphone", "exclude: 'earpiece,,speakerphone' is not accepted"),
        ("headsetOrder", "H1", "headsetOrder: 'H1' is not accepted; accepted: a list of AA:BB:CC:DD:EE:FF"),
    ])
    func `a wrong key or value is refused with what is accepted, and changes nothing`(
        _ key: String, _ value: String, _ message: String
    ) {
        var configuration = RoutingConfiguration()
        let error = #expect(throws: RoutingConfigurationError.self) { try configuration.set(key: key, value: value) }
        #expect(error?.description.hasPrefix(message) == true)
        #expect(configuration == RoutingConfiguration())
    }

    @Test(arguments: [
        "speakerphone", "wiredHeadset", "earpiece", "bluetooth", "bluetooth:00:1B:DC:08:00:11", "none",
    ])
    func `devices are read and printed in the same words`(_ text: String) {
        #expect(AudioDevice(parsing: text)?.description == text)
    }

    @Test(arguments: ["", "Earpiece", "bluetooth:", "bluetooth:H1", "earpiece ", "bluetooth:00:1B:DC:08:00:11:22"])
    func `other words are not a device`(_ text: String) {
        #expect(AudioDevice(parsing: text) == nil)
    }
}
