import BTCall
import BTCallBench
import BTCallDaemon
import BTCallSimulator
import BlueZ
import BluetoothTypes
import Configuration
import ControlLoop
import DBus
import Diagnostics
import HeadsetControl
import Routing
import TestSupport
import Testing

extension DaemonTests {
    @Suite @ControlPlane struct FaultTests {
        private let first = Choice("bluetooth:\(Box.first)") ?? .none

        @Test func `Without bluetoothd calls are local, and btcalld uses it when it appears`() async throws {
            try await Box.run(isBlueZRunning: false) { box in
                let problem = try await box.problem("bluetoothd")
                #expect(problem.remedy.contains("systemctl start bluetooth"))
                try await box.prefer(.bluetooth)
                let registration = try await box.register()
                _ = try await box.startCall(registration)
                try await box.route(.earpiece)
                try await box.playing("earpiece")
                try await box.bluez.start()
                try await box.noProblem("bluetoothd")
                try await eventually("bluetoothd has the profile") { !box.bluez.profiles.isEmpty }
                _ = try await box.connect(Box.first)
                try await box.route(first)
            }
        }

        @Test func `A missing adapter is a problem as well`() async throws {
            try await Box.run(
                configure: { $0.timeouts.adapter = .milliseconds(50) },
                prepare: { $0.bluez.remove(path: "/org/bluez/hci0") },
                body: { box in
                    #expect(try await box.problem("adapter").what == "there is no Bluetooth adapter")
                    box.bluez.addAdapter(address: Box.adapter)
                    try await box.noProblem("adapter")
                })
        }

        @Test func `The adapter is switched off and on during a call`() async throws {
            try await Box.run { box in
                try await box.prefer(.bluetooth)
                _ = try await box.connect(Box.first)
                let registration = try await box.register()
                _ = try await box.startCall(registration)
                try await box.route(first)
                box.bluez.setPowered(false)
                #expect(try await box.problem("adapter").remedy.contains("bluetoothctl power on"))
                try await box.route(.earpiece)
                box.bluez.setPowered(true)
                try await box.noProblem("adapter")
                _ = try await box.connect(Box.first)
                try await box.route(first)
                try await box.playing("headset 1")
            }
        }

        @Test func `A profile that another program holds is a problem that names the program, until it releases it`()
            async throws
        {
            try await Box.run(isBlueZRunning: false) { box in
                let rival = try BusConnection(box.address)
                try await rival.requestName("org.bluealsa")
                let owner = try #require(rival.uniqueName)
                box.bluez.occupy(.handsFreeAudioGateway)
                try await box.bluez.start()
                let problem = try await box.problem("profile")
                #expect(problem.what.contains(owner))
                #expect(problem.what.contains("hfp-ag"))
                box.bluez.vacate(.handsFreeAudioGateway)
                rival.close()
                try await box.noProblem("profile")
                try await eventually("bluetoothd has the profile") { !box.bluez.profiles.isEmpty }
            }
        }

        @Test func `A sound card pulled during a call is a problem until it is back`() async throws {
            try await Box.run { box in
                try await box.prefer(.earpiece)
                let registration = try await box.register()
                _ = try await box.startCall(registration)
                try await box.route(.earpiece)
                try await box.playing("earpiece")
                box.simulation.removeCard(.earpiece)
                _ = try await box.problem("device.earpiece")
                try await box.route(.speakerphone)
                try await box.playing("speakerphone")
                let device = try await box.bridge.audioDeviceManager.audioDevices().first { $0.choice == .earpiece }
                #expect(device?.isAvailable == false)
                #expect(device?.unavailableBecause?.contains("earpiece") == true)
                box.simulation.addCard(.earpiece, microphone: Tone.samples)
                try await box.noProblem("device.earpiece")
                try await box.route(.earpiece)
                try await box.playing("earpiece")
            }
        }

        @Test func `A sound card in use by another program is a problem until it is free`() async throws {
            try await Box.run(
                prepare: { $0.simulation.busyCards = [.earpiece] },
                body: { box in
                    try await box.prefer(.earpiece, default: .none)
                    let registration = try await box.register()
                    _ = try await box.startCall(registration)
                    #expect(try await box.problem("device.earpiece").what.contains("another program uses"))
                    try await box.playing("speakerphone")
                    box.simulation.busyCards = []
                    try await box.noProblem("device.earpiece")
                    try await box.route(.earpiece)
                    try await box.playing("earpiece")
                })
        }

        @Test func `A sound card taken by another program before the call is skipped until it is free`() async throws {
            try await Box.run { box in
                try await box.prefer(.earpiece, default: .none)
                let registration = try await box.register()
                #expect(try await box.device("earpiece")?["available"] == true)
                box.simulation.busyCards = [.earpiece]
                _ = try await box.startCall(registration)
                try await box.route(.speakerphone)
                try await box.playing("speakerphone")
                let busy = try #require(try await box.device("earpiece"))
                #expect(busy["available"] == false && busy["state"] == "unavailable")
                #expect(busy["unavailableBecause"] == "earpiece: another program uses the card")
                #expect(try await Program(box.address)("devices").text.contains("another program uses the card"))
                box.simulation.busyCards = []
                try await box.route(.earpiece)
                try await box.playing("earpiece")
                #expect(try await box.device("earpiece")?["unavailableBecause"] == nil)
            }
        }

        @Test func `A call leaves a headset that is unpaired, which is no longer listed`() async throws {
            try await Box.run { box in
                try await box.prefer(.bluetooth)
                _ = try await box.connect(Box.first)
                let registration = try await box.register()
                _ = try await box.startCall(registration)
                try await box.route(first)
                box.bluez.remove(Box.first)
                try await box.route(.earpiece)
                try await box.playing("earpiece")
                try await eventually("it is not listed") { try await box.device(first.description) == nil }
                #expect(try await box.device("bluetooth:\(Box.second)") != nil)
                box.bluez.addHeadset(Box.first, name: "headset 1")
                _ = try await box.connect(Box.first)
                try await box.route(first)
            }
        }

        @Test func `A pulled adapter forgets no headset; a headset unpaired meanwhile is forgotten`() async throws {
            try await Box.run(
                configure: { $0.timeouts.adapter = .milliseconds(50) },
                body: { box in
                    let second = "bluetooth:\(Box.second)"
                    try await eventually("both are listed") { try await box.device(second) != nil }
                    box.bluez.remove(path: "/org/bluez/hci0")
                    #expect(try await box.problem("adapter").what == "there is no Bluetooth adapter")
                    #expect(try await box.device(second)?["unavailableBecause"] == "adapter is off")
                    #expect(try await box.device(first.description) != nil)
                    box.bluez.addAdapter(address: Box.adapter)
                    box.bluez.addHeadset(Box.first, name: "headset 1")
                    try await eventually("the other one is gone") { try await box.device(second) == nil }
                    #expect(try await box.device(first.description)?["unavailableBecause"] == "not connected")
                    // Repeated while bluetoothd is away.
                    box.bluez.stop()
                    _ = try await box.problem("bluetoothd")
                    #expect(try await box.device(first.description) != nil)
                    box.bluez.remove(Box.first)
                    try await box.bluez.start()
                    try await eventually("it has gone as well") { try await box.device(first.description) == nil }
                })
        }

        @Test func `btcalld requests a taken bus name again`() async throws {
            try await Box.run(
                prepare: { box in try await box.client.requestName("org.btcall") },
                body: { box in
                    let problem = try #require(box.daemon.problems.problems.first { $0.id == "name" })
                    #expect(problem.what.contains(try #require(box.client.uniqueName)))
                    box.client.releaseName("org.btcall")
                    try await eventually("btcalld owns the name") { box.daemon.problems.problems.isEmpty }
                    #expect(try await box.bridge.status().state == .active)
                })
        }

        @Test func `On a bus without btcalld's policy the problem names the file to install`() async throws {
            try await Box.run(rules: #"<deny own="org.btcall"/>"#) { box in
                let problem = try #require(box.daemon.problems.problems.first { $0.id == "name" })
                #expect(problem.remedy.contains("/usr/share/dbus-1/system.d/org.btcall.conf"))
            }
        }

        @Test func `A call stays on the headset while bluetoothd is restarted`() async throws {
            try await Box.run { box in
                try await box.prefer(.bluetooth)
                let ears = try await box.connect(Box.first)
                let registration = try await box.register()
                let call = try await box.startCall(registration)
                try await box.route(first)
                box.bluez.stop()
                _ = try await box.problem("bluetoothd")
                try await box.playing("headset 1")
                try await box.bluez.start()
                try await box.noProblem("bluetoothd")
                try await eventually("bluetoothd has the profile") { !box.bluez.profiles.isEmpty }
                #expect(try await box.bridge.audioDeviceManager.activeRoute() == first)
                try await box.playing("headset 1")
                ears.headset.press(.hangUp)
                try await ears.hear(.indicator("call", 0))
                #expect(box.telephone.requests.last == .end(call, "localHangUp"))
            }
        }

        @Test func `A call stays on the headset when bluetoothd comes back before its adapters`() async throws {
            try await Box.run { box in
                try await box.prefer(.bluetooth)
                let ears = try await box.connect(Box.first)
                let registration = try await box.register()
                _ = try await box.startCall(registration)
                try await box.route(first)
                box.bluez.stop()
                _ = try await box.problem("bluetoothd")
                let next = FakeBlueZ(on: box.address)
                try await next.start()
                try await box.noProblem("bluetoothd")
                try await eventually("it has the profile") { !next.profiles.isEmpty }
                next.addAdapter(address: Box.adapter)
                next.addHeadset(Box.first, name: "headset 1")
                try await eventually("the headset is known") { box.daemon.headsets.category(of: Box.first) != nil }
                #expect(try await box.bridge.audioDeviceManager.activeRoute() == first)
                #expect(try await box.bridge.status().reason == "callStarted")
                try await box.playing("headset 1")
                #expect(!ears.events.contains(.closed))
                next.stop()
            }
        }
    }
}
