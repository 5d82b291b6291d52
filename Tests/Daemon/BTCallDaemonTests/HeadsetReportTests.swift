import BTCall
import BTCallAPI
import BTCallBench
import BTCallDaemon
import BTCallSimulator
import BTCallTrials
import BluetoothTypes
import Configuration
import ControlLoop
import DBus
import TestSupport
import Testing

extension DaemonTests {
    /// What a headset reports about itself: its mute, its power, and messages of its maker.
    @Suite @ControlPlane struct HeadsetReportTests {
        private let first = Choice("bluetooth:\(Box.first)") ?? .none

        private func connect(_ box: Box) async throws -> RawHeadset {
            let headset = try await box.establishedHeadset()
            return headset
        }

        private func property(_ box: Box, _ name: String) async throws -> Value? {
            try await box.client.call(
                BTCallName.bus, BTCallPath.headset(Box.first), "org.freedesktop.DBus.Properties", "Get",
                [.string(BTCallName.Interface.headset), .string(name)]
            ).first?.unwrapped
        }

        private func shows(
            _ box: Box, _ name: String, _ value: Value, sourceLocation: SourceLocation = #_sourceLocation
        ) async throws {
            try await eventually("\(name) is \(value)", sourceLocation: sourceLocation) {
                try await property(box, name) == value
            }
        }

        private func isMuted(
            _ box: Box, _ wanted: Bool, sourceLocation: SourceLocation = #_sourceLocation
        ) async throws {
            try await eventually("the calls are \(wanted ? "" : "not ")muted", sourceLocation: sourceLocation) {
                try await box.bridge.calls.isMuted() == wanted
            }
        }

        @Test func `a headset that reports its own mute mutes the calls that it carries, and unmutes them`()
            async throws
        {
            try await Box.run { box in
                try await box.prefer(.bluetooth)
                let headset = try await connect(box)
                // Without a call it is shown only.
                headset.say("AT+ANDROID=XHSMICMUTE,1")
                try await shows(box, "MicrophoneMuted", true)
                headset.say("AT+ANDROID=XHSMICMUTE,0")
                try await shows(box, "MicrophoneMuted", false)
                let registration = try await box.register()
                _ = try await box.startCall(registration)
                try await box.route(first)
                #expect(try await !box.bridge.calls.isMuted())
                headset.say("AT+ANDROID=XHSMICMUTE,1")
                try await isMuted(box, true)
                #expect(try await box.device("bluetooth:\(Box.first)")?["microphoneMuted"] == true)
                headset.say("AT+ANDROID=XHSMICMUTE,0")
                try await isMuted(box, false)
                #expect(try await box.device("bluetooth:\(Box.first)")?["microphoneMuted"] == false)
                // Somebody else unmutes: the switch of the headset stays as it is.
                headset.say("AT+ANDROID=XHSMICMUTE,1")
                try await isMuted(box, true)
                try await box.bridge.calls.setMuted(false)
                try await shows(box, "MicrophoneMuted", true)
                #expect(!box.log.containing("notice", "\(Box.first)", "unmute it there").isEmpty)
            }
        }

        @Test func `a headset turned down to 0 is shown as muted, and turned up when the calls are unmuted elsewhere`()
            async throws
        {
            try await Box.run { box in
                try await box.prefer(.bluetooth)
                let headset = try await connect(box)
                let registration = try await box.register()
                _ = try await box.startCall(registration)
                try await box.route(first)
                headset.say("AT+VGM=9", "AT+VGM=0")
                try await isMuted(box, true)
                try await shows(box, "MicrophoneMuted", true)
                headset.forget()
                try await box.bridge.calls.setMuted(false)
                try await headset.hear("+VGM: 9")
                try await shows(box, "MicrophoneMuted", false)
                // A microphone volume of 0 that is a volume.
                try await box.bridge.setSetting("calls.muteByHeadset", to: "no")
                headset.say("AT+VGM=0")
                try await shows(box, "MicrophoneVolume", .byte(0))
                try await shows(box, "MicrophoneMuted", false)
                try await box.bridge.resetSetting("calls.muteByHeadset")
                try await shows(box, "MicrophoneMuted", true)
                #expect(try await !box.bridge.calls.isMuted())
            }
        }

        @Test func `speaking into a headset that has muted itself is signalled`() async throws {
            try await Box.run(
                prepare: { box in
                    box.simulation.addHeadset(Box.first, name: "headset 1", codecs: [.cvsd]) {
                        Speech.samples(rate: $0, seconds: 5)
                    }
                },
                body: { box in
                    try await box.prefer(.bluetooth)
                    let headset = try await connect(box)
                    let registration = try await box.register()
                    _ = try await box.startCall(registration)
                    try await box.route(first)
                    let events = await box.bridge.events()
                    headset.say("AT+VGM=0")
                    try await isMuted(box, true)
                    for await event in events where event == .speakingWhileMuted { break }
                })
        }

        @Test func `power source and safety features are shown, and forgotten with the connection`() async throws {
            try await Box.run { box in
                let events = await box.bridge.events()
                let headset = try await connect(box)
                try await shows(box, "PowerSource", "")
                try await shows(box, "EnhancedSafety", "")
                headset.say("AT+BIEV=1,1", "AT+CSRPWR=2")
                try await shows(box, "EnhancedSafety", "on")
                try await shows(box, "PowerSource", "external")
                headset.say("AT+BIEV=1,0", "AT+IPHONEACCEV=2,1,4,2,0")
                try await shows(box, "EnhancedSafety", "off")
                try await shows(box, "PowerSource", "battery")
                headset.say("AT+XEVENT=BATTERY,3,11,100,1")
                try await shows(box, "PowerSource", "external")
                headset.say("AT+CSR=(5,0)")
                try await shows(box, "PowerSource", "")
                headset.close()
                box.bluez.disconnect(Box.first)
                try await shows(box, "EnhancedSafety", "")
                var told: [String] = []
                for await event in events {
                    guard case .headsetChanged("\(Box.first)", let name, let value) = event else { continue }
                    told.append("\(name) \(value ?? "")")
                    if told.last == "enhancedSafety " { break }
                }
                #expect(
                    told == [
                        "enhancedSafety on", "powerSource external", "enhancedSafety off", "powerSource battery",
                        "powerSource external", "powerSource ", "enhancedSafety ",
                    ])
            }
        }

        @Test func `messages of a headset's maker are events`() async throws {
            try await Box.run { box in
                let events = await box.bridge.events()
                let headset = try await connect(box)
                headset.say(
                    "AT+XEVENT=DON", "AT+XEVENT=USER-AGENT,COM.MAKER,\"a b\",,7", "AT+ANDROID=MGNP,0904010101FF00",
                    "AT+ANDROID=XHSTBATSOH,95", "AT+APLEFM=1", "AT+XEVENT=BATTERY,3,11,100,0")
                var told: [String] = []
                for await event in events {
                    guard case .headsetEvent("\(Box.first)", let word, let values) = event else { continue }
                    told.append("\(word) \(values)")
                    if told.count == 6 { break }
                }
                #expect(
                    told.sorted()
                        == [
                            "DON []", #"USER-AGENT ["COM.MAKER", "ab", "", "7"]"#, #"MGNP ["0904010101FF00"]"#,
                            #"XHSTBATSOH ["95"]"#, #"APLEFM ["1"]"#, #"BATTERY ["100"]"#,
                        ].sorted())
            }
        }
    }
}
