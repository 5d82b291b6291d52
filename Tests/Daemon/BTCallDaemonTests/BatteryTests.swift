import BTCall
import BTCallAPI
import BTCallDaemon
import BTCallSimulator
import BluetoothTypes
import Configuration
import ControlLoop
import DBus
import Foundation
import HeadsetControl
import TestSupport
import Testing

extension DaemonTests {
    @Suite @ControlPlane struct BatteryTests {
        private static let properties = "org.freedesktop.DBus.Properties"

        private func boardBattery(_ box: Box) async throws -> Value? {
            try await box.client.call(
                BTCallName.bus, BTCallPath.manager, Self.properties, "Get",
                [.string(BTCallName.Interface.manager), .string(BTCallName.Manager.boardBattery)]
            ).first?.unwrapped
        }

        private func give(_ box: Box, _ percent: Int32) async -> String? {
            await box.error(
                BTCallPath.manager, Self.properties, "Set",
                [
                    .string(BTCallName.Interface.manager), .string(BTCallName.Manager.boardBattery),
                    .variant(.int32(percent)),
                ])
        }

        /// Waits until a headset and the daemon show a level.
        private func shown(_ level: Int, _ percent: Int32, by ears: Ears, _ box: Box) async throws {
            try await eventually("the headset shows \(level)") { ears.headset.indicators["battchg"] == level }
            try await eventually("the daemon says \(percent)") { try await boardBattery(box) == .int32(percent) }
        }

        /// Waits until bluetoothd has a level of the first headset, with its source.
        private func told(
            _ box: Box, _ expected: String?, sourceLocation: SourceLocation = #_sourceLocation
        ) async throws {
            try await eventually("bluetoothd has \(expected ?? "none")", sourceLocation: sourceLocation) {
                guard let battery = box.bluez.battery(of: Box.first) else { return expected == nil }
                return "\(battery.percent) \(await source(box) ?? "")" == expected
            }
        }

        private func source(_ box: Box) async -> String? {
            guard let owner = box.bluez.batteryProviders.first?.owner else { return nil }
            let object = "/org/btcall/battery/hci0/dev_\(Box.first.pathComponent)"
            // An object that has just gone has no source.
            let reply = try? await box.client.call(
                owner, object, Self.properties, "Get", ["org.bluez.BatteryProvider1", "Source"])
            return reply?.first?.stringValue
        }

        private func battery(_ box: Box) async throws -> Int? {
            let devices = try await box.bridge.audioDeviceManager.audioDevices()
            return devices.first { $0.address == "\(Box.first)" }?.battery
        }

        // MARK: The board's

        @Test func `Headsets show the board's battery from UPower, and a full one without UPower`() async throws {
            try await Box.run { box in
                let ears = try await box.connect(Box.first)
                try await shown(5, -1, by: ears, box)
                var upower = try await FakeUPower(box.address, percentage: 34.6)
                try await shown(2, 35, by: ears, box)
                let other = try await box.connect(Box.second)
                #expect(other.headset.indicators["battchg"] == 2)
                ears.forget()
                upower.set("Percentage", .double(38))
                try await shown(2, 38, by: ears, box)
                // No indicator is sent for a value that the headset already has.
                #expect(!ears.events.contains(.indicator("battchg", 2)))
                upower.set("Percentage", .double(4.2))
                try await shown(0, 4, by: ears, box)
                try await shown(0, 4, by: other, box)
                upower.lie(["Percentage": "full", "IsPresent": .int32(0)])
                upower.set("Percentage", .double(71))
                try await shown(4, 71, by: ears, box)
                upower.set("Percentage", .double(.nan))
                try await shown(5, -1, by: ears, box)
                upower.set("Percentage", .double(20))
                try await shown(1, 20, by: ears, box)
                upower.set("IsPresent", false)
                try await shown(5, -1, by: ears, box)
                upower.set("IsPresent", true)
                try await shown(1, 20, by: ears, box)
                upower.close()
                try await shown(5, -1, by: ears, box)
                upower = try await FakeUPower(box.address, percentage: 55)
                try await shown(3, 55, by: ears, box)
                upower.close()
                try await shown(5, -1, by: ears, box)
            }
        }

        @Test func `A program's battery level overrides UPower until the program removes it`() async throws {
            try await Box.run { box in
                let ears = try await box.connect(Box.first)
                let upower = try await FakeUPower(box.address, percentage: 100)
                try await shown(5, 100, by: ears, box)
                #expect(await give(box, 12) == nil)
                try await shown(1, 12, by: ears, box)
                upower.set("Percentage", .double(90))
                for percent: Int32 in [-2, 101, .max, .min] {
                    #expect(await give(box, percent) == APIError.namePrefix + "InvalidArgument", "\(percent)")
                }
                try await shown(1, 12, by: ears, box)
                #expect(await give(box, -1) == nil)
                try await shown(5, 90, by: ears, box)
                upower.close()
            }
        }

        @Test func `The configuration chooses the source of the board's battery level`() async throws {
            try await Box.run(
                configure: { $0.boardBattery = .property },
                body: { box in
                    let upower = try await FakeUPower(box.address, percentage: 30)
                    let ears = try await box.connect(Box.first)
                    #expect(await give(box, 50) == nil)
                    try await shown(3, 50, by: ears, box)
                    #expect(await give(box, -1) == nil)
                    try await shown(5, -1, by: ears, box)
                    try await box.bridge.setSetting("bluetooth.boardBattery", to: "upower")
                    try await shown(2, 30, by: ears, box)
                    try await box.bridge.setSetting("bluetooth.boardBattery", to: "none")
                    try await shown(5, -1, by: ears, box)
                    #expect(await give(box, 50) == APIError.namePrefix + "NotSupported")
                    // Another change of the configuration keeps the level.
                    try await box.bridge.setSetting("bluetooth.boardBattery", to: "upower")
                    try await shown(2, 30, by: ears, box)
                    try await box.bridge.setSetting("bluetooth.operatorName", to: "kiosk")
                    let other = try await box.connect(Box.second)
                    #expect(other.headset.indicators["battchg"] == 2)
                    upower.close()
                })
        }

        // MARK: The headsets'

        @Test func `bluetoothd gets the battery of a headset, with its source`() async throws {
            try await Box.run { box in
                #expect(box.bluez.batteryProviders.isEmpty)
                let ears = try await box.connect(Box.first)
                try await told(box, "70 HFP AT+BIEV")
                #expect(box.bluez.battery(of: Box.first)?.source == "HFP AT+BIEV")
                let steps = [
                    ("AT+BIEV=2,76", "76 HFP AT+BIEV"), ("AT+IPHONEACCEV=1,1,3", "40 HFP AT+IPHONEACCEV"),
                    ("AT+XEVENT=BATTERY,2,11,461,0", "20 HFP AT+XEVENT"), ("AT+CSRBATT=4", "50 HFP AT+CSRBATT"),
                    ("AT+ANDROID=XHSTBATSOC,64", "64 HFP AT+ANDROID"), ("AT+XEVENT=BATTERY,3", "40 HFP AT+XEVENT"),
                    ("AT+IPHONEACCEV=2,1,9,2,1", "100 HFP AT+IPHONEACCEV"),
                ]
                for (command, expected) in steps {
                    ears.headset.say(command)
                    try await told(box, expected)
                }
                #expect(box.daemon.headsets.description(of: Box.first)?.battery == 100)
                // bluetoothd is killed and restarted; the headset's connection survives.
                try await box.bluez.restart()
                try await told(box, "100 HFP AT+IPHONEACCEV")
                box.bluez.disconnect(Box.first)
                try await told(box, nil)
                _ = try await box.connect(Box.first)
                try await told(box, "70 HFP AT+BIEV")
            }
        }

        @Test func `A headset that reports no battery to btcalld is shown with bluetoothd's value`() async throws {
            try await Box.run { box in
                let headset = VirtualHeadset(
                    .init(address: Box.first, name: "headset 1", codecs: [.cvsd], battery: nil))
                let ears = Ears(headset)
                try headset.attach(try await box.bluez.connect(Box.first))
                try await ears.hear(.serviceLevelConnectionUp)
                #expect(try await battery(box) == nil)
                box.bluez.setBattery(33, Box.first)
                try await eventually("it is shown") { try await battery(box) == 33 }
                #expect(box.bluez.batteryProviders.isEmpty)
                headset.tellBattery(90)
                try await eventually("its own value counts") { try await battery(box) == 90 }
            }
        }
    }
}
