import BTCallAPI
import Configuration
import ControlLoop
import Foundation
import Routing
import Testing

@Suite @ControlPlane struct SettingsTests {
    private func settings(_ text: String = "", kept: [String: String] = [:]) throws -> Settings {
        Settings(base: try Configuration(text: text, name: "test.conf"), kept: kept)
    }

    private func find(_ key: String, _ settings: Settings) throws -> SettingDescription {
        try #require(settings.list.first { $0.key == key })
    }

    @Test func `Every key of every section is listed with a value that it accepts`() throws {
        let settings = try settings("[device speakerphone]\nplayback = hw:0,0\n")
        let expected = ConfigurationSection.all.flatMap { section in
            section.keys.map { "\(section.settingPrefix).\($0.name)" }
        }
        #expect(settings.list.map(\.key) == expected)
        #expect(Set(expected).count == expected.count)
        for key in RoutingKey.allCases { #expect(expected.contains("routing.\(key.rawValue)")) }
        for setting in settings.list {
            #expect(!setting.summary.isEmpty && !setting.accepted.isEmpty, "\(setting.key)")
            #expect(setting.summary.last != ".", "\(setting.key)")
            guard setting.effect != .restart else { continue }
            #expect(setting.origin == .default && setting.value == setting.defaultValue, "\(setting.key)")
            try settings.set(setting.key, setting.value)
            #expect(try find(setting.key, settings).origin == .runtime, "\(setting.key)")
        }
        #expect(settings.configuration.routing == RoutingConfiguration())
    }

    @Test(arguments: ["bluetooth", "bluetooth:00:00:5E:00:53:01", "none"])
    func `A system device that is no device of the board is refused, and a warning from the file`(word: String) throws {
        let settings = try settings()
        let error = #expect(throws: APIError.self) { try settings.set("routing.systemDevice", word) }
        #expect(error?.message.contains("speakerphone, wiredHeadset, earpiece") == true)
        try settings.set("routing.systemDevice", "earpiece")
        let contents = try ConfigurationReader.contents(ofText: "[routing]\nsystemDevice = \(word)\n", name: "f")
        let (configuration, mistakes) = Configuration.reading(contents, file: "f")
        #expect(mistakes.isEmpty)
        #expect(
            configuration.warnings.map(\.description) == [
                "f:2: [routing] systemDevice: '\(word)' is no device of the board and stands for the first one that exists; "
                    + "write speakerphone, wiredHeadset, earpiece"
            ])
    }

    @Test func `A setting whose section another program replaced names that program`() throws {
        let settings = try settings(kept: ["metrics.port": "9464"])
        let advice = "metrics.port: btcall-web serves the metrics, not btcalld: install btcall-web"
        #expect(settings.ignored.count == 1 && settings.ignored[0].hasPrefix(advice), "\(settings.ignored)")
        #expect(settings.runtime.isEmpty)
        let error = #expect(throws: APIError.self) { try settings.set("metrics.port", "9464") }
        #expect(error?.message.hasPrefix(advice) == true)
    }

    @Test func `A value set at run time overrides the file until a reset`() throws {
        let settings = try settings("[routing]\nexclude = wiredHeadset\n")
        var changes = 0
        settings.changes.subscribe { _ in changes += 1 }
        #expect(try find("routing.exclude", settings).origin == .file)
        try settings.set("routing.exclude", "bluetooth,earpiece")
        #expect(settings.configuration.routing.exclude == [.bluetooth, .earpiece])
        let set = try find("routing.exclude", settings)
        #expect(set.value == "bluetooth, earpiece" && set.origin == .runtime && set.defaultValue.isEmpty)
        #expect(settings.runtime == ["routing.exclude": "bluetooth, earpiece"])
        try settings.set("routing.exclude", " bluetooth , earpiece")
        #expect(changes == 1)
        try settings.reset("routing.exclude")
        #expect(settings.configuration.routing.exclude == [.wiredHeadset])
        #expect(try find("routing.exclude", settings).origin == .file)
        #expect(changes == 2 && settings.runtime.isEmpty)
        try settings.reset("routing.exclude")
        #expect(changes == 2)
        try settings.set("routing.exclude", "wiredHeadset")
        #expect(changes == 2)
        #expect(try find("routing.exclude", settings).origin == .runtime)
        try settings.set("routing.exclude", "")
        #expect(settings.configuration.routing.exclude.isEmpty && changes == 3)
    }

    @Test(arguments: [
        ("routing.exclude", "radio", "a list of speakerphone"), ("routing.openAttempts", "0", "1 to 100"),
        ("routing.manualAudio", "perhaps", "true or false"), ("bluetooth.operatorName", "", "1 to 16 bytes"),
        ("bluetooth.operatorName", "a;b", "semicolons"), ("bluetooth.operatorName", "a\nb", "control characters"),
        ("audio.periodMilliseconds", "4", "from 5 to 40"), ("daemon.logLevel", "loud", "trace, debug"),
        ("routing.headsetOrder", String(repeating: "00:00:5E:00:53:01, ", count: 300), "separated by commas"),
    ])
    func `A refused value changes nothing, and the refusal says what is accepted`(
        _ key: String, _ value: String, _ accepted: String
    ) throws {
        let settings = try settings()
        var changes = 0
        settings.runtimeChanges.subscribe { changes += 1 }
        let before = settings.list
        let refusal = try #require(#expect(throws: APIError.self) { try settings.set(key, value) })
        #expect(refusal.code == .invalidArgument)
        #expect(refusal.message.contains(key) && refusal.message.contains(accepted), "\(refusal)")
        #expect(settings.list == before && changes == 0)
    }

    @Test func `Stored values that are no longer valid are ignored, each with its reason`() throws {
        let kept = [
            "routing.exclude": "radio", "routing.newHeadset": "take", "routing.volume": "3", "daemon.autostart": "no",
        ]
        let settings = try settings(kept: kept)
        #expect(settings.configuration.routing.newHeadset == .take)
        #expect(settings.configuration.autostart)
        #expect(settings.runtime == ["routing.newHeadset": "take"])
        #expect(settings.ignored.count == 3)
        #expect(settings.ignored.contains { $0.contains("routing.exclude") && $0.contains("'radio'") })
    }

    @Test func `A key's name from an earlier version is accepted, and stored as the present one`() throws {
        let kept = [
            "routing.silentLimitMs": "150", "routing.openTimeoutMs": "1000", "routing.openTimeoutMilliseconds": "2000",
        ]
        let settings = try settings(kept: kept)
        #expect(settings.ignored.isEmpty)
        #expect(
            settings.renamed == [
                "routing.silentLimitMs is called routing.silentLimitMilliseconds now, and kept as that"
            ])
        #expect(
            settings.runtime == ["routing.silentLimitMilliseconds": "150", "routing.openTimeoutMilliseconds": "2000"])
        var names: [String] = []
        settings.formerNames.subscribe { names.append("\($0.given) \($0.current)") }
        try settings.set("routing.silentLimitMs", "250")
        #expect(settings.configuration.routing.silentLimit == .milliseconds(250))
        #expect(settings.value(of: "routing.silentLimitMs") == "250")
        try settings.reset("routing.silentLimitMs")
        #expect(settings.runtime == ["routing.openTimeoutMilliseconds": "2000"])
        #expect(
            names == Array(repeating: "routing.silentLimitMs routing.silentLimitMilliseconds", count: 2))
        let refusal = try #require(#expect(throws: APIError.self) { try settings.set("routing.exclud", "") })
        #expect(refusal.message.contains("(did you mean routing.exclude?)"))
        #expect(throws: APIError.self) { try settings.set("routing.openAttemptsMs", "3") }
    }

    @Test func `A value that is not set does not have the file as its origin, even if it depends on the board`() throws
    {
        let earpiece = try find("ring.device", try settings("[device earpiece]\nplayback = hw:0,0\n"))
        #expect(earpiece.value == "earpiece" && earpiece.defaultValue == "earpiece" && earpiece.origin == .default)
        let none = try find("ring.device", try settings())
        #expect(none.value == "none" && none.defaultValue == "none" && none.origin == .default)
        let given = try find("ring.device", try settings("[ring]\ndevice = earpiece\n"))
        #expect(given.value == "earpiece" && given.defaultValue == "speakerphone" && given.origin == .file)
    }

    @Test func `Long lists are stored in several short lines`() throws {
        let directory = "/tmp/btcall-test-\(UInt64.random(in: 0 ..< .max))"
        defer { try? FileManager.default.removeItem(atPath: directory) }  // A folder in /tmp may stay.
        let store = PreferenceStore(directory: directory)
        let order = (1...40).map { "00:00:5E:00:53:\($0 + 15 < 100 ? String($0 + 15) : "99")" }
        let kept = PreferenceStore.Preferences(
            preferred: "bluetooth",
            settings: [
                "routing.headsetOrder": order.joined(separator: ", "), "daemon.logLevel": "debug",
                "routing.exclude": "", "bluetooth.codecs": "cvsd",
            ])
        try store.file.replace(with: PreferenceStore.text(kept))
        #expect(try store.load().preferences == kept)
        let text = try String(contentsOfFile: directory + "/preferences.conf", encoding: .utf8)
        #expect(text.split(separator: "\n").allSatisfy { $0.utf8.count <= ConfigurationReader.maximumLineBytes })
        #expect(text.contains("headsetOrder.2 = "))
    }
}
