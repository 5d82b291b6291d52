import BTCallAPI
import BluetoothTypes
import Configuration
import ControlLoop
import Testing

@Suite @ControlPlane struct LevelConfigurationTests {
    private let first = BluetoothAddress(value: 0x0000_5E00_5301)
    private let second = BluetoothAddress(value: 0x0000_5E00_5302)

    private func configuration(_ text: String) throws -> Configuration {
        try Configuration(text: text, name: "test.conf")
    }

    @Test func `A headset's section is found by its address in either case`() throws {
        let text = """
            [bluetooth]
            volumeCeiling = 12
            boardBattery = property
            [headset 00:00:5e:00:53:01]
            volumeCeiling = 0
            [headset 00:00:5E:00:53:02]
            volumeCeiling = 15
            """
        let configuration = try configuration(text)
        #expect(configuration.volumeCeiling == 12 && configuration.boardBattery == .property)
        #expect(configuration.headsets.mapValues(\.volumeCeiling) == [first: 0, second: 15])
        let standard = Configuration()
        #expect(standard.volumeCeiling == 15 && standard.boardBattery == .upower && standard.headsets.isEmpty)
    }

    @Test(arguments: [
        ("[bluetooth]\nvolumeCeiling = 16\n", "'16' is not accepted; it is a whole number from 0 to 15"),
        ("[bluetooth]\nboardBattery = acpi\n", "'acpi' is not accepted; it is upower, property, none"),
        (
            "[headset 00:00:5E:00:53:01]\nvolumeCeiling = -1\n",
            "'-1' is not accepted; it is a whole number from 0 to 15; leave the key out for that of [bluetooth]"
        ),
        (
            "[headset 00:00:5E:00:53:01]\nvolume = 3\n",
            "there is no such key; did you mean 'volumeCeiling'"
        ),
        (
            "\n[headset kitchen]\nvolumeCeiling = 3\n",
            "there is no such section; the address is six octets: [headset AA:"
        ),
    ])
    func `A mistake is reported with its line and what is accepted`(text: String, expected: String) throws {
        let error = try #require(throws: ConfigurationError.self) { try configuration(text) }
        #expect("\(error)".hasPrefix("test.conf:2: ") && "\(error)".contains(expected), "\(error)")
    }

    @Test func `A headset's keys are listed if it has a section, and only the file sets them`() throws {
        let settings = Settings(base: try configuration("[headset 00:00:5E:00:53:01]\nvolumeCeiling = 7\n"), kept: [:])
        let name = "headset.00:00:5E:00:53:01.volumeCeiling"
        let setting = try #require(settings.list.first { $0.key == name })
        #expect(setting.value == "7" && setting.origin == .file && setting.effect == .restart)
        for key in [name, "headset.00:00:5E:00:53:02.volumeCeiling"] {
            let refused = try #require(throws: APIError.self) { try settings.set(key, "5") }
            #expect(refused.code == .notSupported)
        }
        for key in ["headset.kitchen.volumeCeiling", "headset.00:00:5E:00:53:01.volume", "headset.", "headset"] {
            let refused = try #require(throws: APIError.self) { try settings.set(key, "5") }
            #expect(refused.code == .invalidArgument, "\(key)")
        }
    }
}
