import BTCall
import BTCallAPI
import BTCallDaemon
import BTCallSimulator
import BluetoothTypes
import Configuration
import ControlLoop
import DBus
import Foundation
import TestSupport
import Testing

extension DaemonTests {
    /// The identity of the box through the library, and logging out.
    @Suite @ControlPlane struct IdentityTests {
        /// Runs a box that keeps its settings over restarts.
        private func run(operatorName: String? = nil, _ body: (Box) async throws -> Void) async throws {
            let folder = FileManager.default.temporaryDirectory.appending(path: "btcall-state-\(UUID().uuidString)")
            defer { try? FileManager.default.removeItem(at: folder) }  // A folder in the temporary directory may stay.
            try await Box.run(
                configure: { configuration in
                    configuration.stateDirectory = folder.path
                    if let operatorName { configuration.operatorName = operatorName }
                },
                body: body)
        }

        private func alias(_ box: Box) async throws -> String? {
            try await box.client.call(
                "org.bluez", "/org/bluez/hci0", "org.freedesktop.DBus.Properties", "Get",
                ["org.bluez.Adapter1", "Alias"]
            ).first?.unwrapped.stringValue
        }

        /// The headsets that bluetoothd knows as paired.
        private func pairings(_ box: Box) async throws -> Set<String> {
            let tree = try await box.client.call(
                "org.bluez", "/", "org.freedesktop.DBus.ObjectManager", "GetManagedObjects")
            var found: Set<String> = []
            for object in tree.first?.entries ?? [] {
                guard let device = object.value["org.bluez.Device1"], device["Paired"]?.boolValue == true else {
                    continue
                }
                found.insert(device["Address"]?.stringValue ?? "")
            }
            return found
        }

        private func byName(_ headset: RawHeadset) async throws {
            headset.forget()
            headset.say("AT+COPS=3,0")
            try await eventually("it is accepted") { headset.lines.last == "OK" }
        }

        private func network(_ headset: RawHeadset) async throws -> String? {
            headset.forget()
            headset.say("AT+COPS?")
            try await eventually("+COPS is answered") { headset.lines.last == "OK" }
            return headset.lines.first
        }

        @Test func `S4.3 library: name and number change at any time, and a headset sees it without reconnecting`()
            async throws
        {
            try await run { box in
                let headset = try await box.establishedHeadset()
                try await byName(headset)
                #expect(try await network(headset) == "+COPS: 0,0,\"btcall\"")
                let registration = try await box.register()
                _ = try await box.startCall(registration)
                var configuration = try await box.bridge.configuration()
                #expect(configuration == BridgeConfiguration())
                configuration.displayName = "Küche"
                configuration.phoneNumber = "+493012345"
                try await box.bridge.configure(configuration)
                #expect(try await box.bridge.configuration() == configuration)
                try await eventually("the adapter is called so") { try await alias(box) == "Küche" }
                #expect(try await network(headset) == "+COPS: 0,0,\"Küche\"")
                headset.say("AT+CNUM")
                try await headset.hear("+CNUM: ,\"+493012345\",145,,4")
                #expect(!headset.isClosed)
                // The name is stored, and an adapter that appears later gets it as well.
                try await box.restartDaemon()
                #expect(try await box.bridge.configuration() == configuration)
                box.bluez.addAdapter("hci1", address: Box.second)
                try await eventually("the other adapter is called so") {
                    try await box.client.call(
                        "org.bluez", "/org/bluez/hci1", "org.freedesktop.DBus.Properties", "Get",
                        ["org.bluez.Adapter1", "Alias"]
                    ).first?.unwrapped.stringValue == "Küche"
                }
                #expect(try await Program(box.address)("config", "displayName", "").status == 0)
                try await eventually("the adapter has its own name again") { try await alias(box) == "btcall" }
                #expect(try await box.bridge.configuration().displayName == nil)
                let long = await refusal { () throws(BridgeError) in
                    try await box.bridge.configure(BridgeConfiguration(displayName: String(repeating: "x", count: 97)))
                }
                #expect(long?.code == .invalidArgument && long?.message.contains("96 bytes") == true)
                // Unknown entries are refused by name.
                let unknown: [Value] = [
                    .string(BTCallName.Interface.manager), .string(BTCallName.Manager.configuration),
                    .variant(.vardict(["colour": "red"])),
                ]
                #expect(
                    await box.error(BTCallPath.manager, "org.freedesktop.DBus.Properties", "Set", unknown)
                        == APIError.namePrefix + "InvalidArgument")
            }
        }

        @Test func `S4.4 library: account and user change only while inactive`() async throws {
            try await run { box in
                var identity = BridgeConfiguration(accountID: "4711", userID: "anna", displayName: "desk")
                let early = await refusal { () throws(BridgeError) in try await box.bridge.configure(identity) }
                #expect(early?.code == .wrongState && early?.message.contains("inactive") == true)
                // All or nothing.
                #expect(try await box.bridge.configuration() == BridgeConfiguration())
                for key in ["identity.accountId", "identity.userId"] {
                    let set = await refusal { () throws(BridgeError) in try await box.bridge.setSetting(key, to: "x") }
                    #expect(set?.code == .wrongState)
                }
                let program = try Program(box.address)
                #expect(try await program("config", "accountId", "4711").status == 1)
                try await box.bridge.deactivate()
                try await box.bridge.configure(identity)
                #expect(try await program("config", "accountId", "4712").status == 0)
                identity.accountID = "4712"
                try await box.bridge.activate()
                #expect(try await box.bridge.configuration() == identity)
                let reset = await refusal { () throws(BridgeError) in
                    try await box.bridge.resetSetting("identity.userId")
                }
                #expect(reset?.code == .wrongState)
                // The other entries may change, with the same account.
                identity.displayName = "hall"
                try await box.bridge.configure(identity)
                #expect(try await box.bridge.configuration() == identity)
            }
        }

        @Test func `S4.4 S4.5 library: account, user and picture reach the application and clients with each call`()
            async throws
        {
            try await run { box in
                let account = CallAccount(accountID: "4711", userID: "anna")
                let icon = "/usr/share/pixmaps/phone.png"
                try await box.bridge.deactivate()
                try await box.bridge.configure(
                    BridgeConfiguration(
                        accountID: account.accountID, userID: account.userID, callOptions: .init(iconFileName: icon)))
                try await box.bridge.activate()
                let provider = AccountProvider()
                let registration = try await box.bridge.register(
                    provider, as: .init(name: "accounts", capabilities: [.dial]))
                let out = try await box.bridge.calls.place("110")
                let call = try #require(try await box.bridge.calls.list().first)
                #expect(call.account == account && call.icon == icon)
                try await registration.update(out, .ended)
                let incoming = try await registration.reportIncoming(number: "111")
                try await box.bridge.calls.answer(incoming)
                #expect(await provider.accounts == [account, account])
                let text = try await Program(box.address)("calls", "--json").text
                let json = try JSONSerialization.jsonObject(with: Data(text.utf8)) as? [[String: Any]]
                #expect(json?.first?["accountId"] as? String == "4711" && json?.first?["userId"] as? String == "anna")
                #expect(json?.first?["icon"] as? String == icon)
                try await registration.update(incoming, .ended)
                // The picture may change now, and is that of later calls.
                try await box.bridge.resetSetting("identity.iconFileName")
                _ = try await registration.reportIncoming(number: "112")
                #expect(try await box.bridge.calls.list().first?.icon == nil)
            }
        }

        @Test func `Without an account an application gets no empty entries`() async throws {
            try await Box.run { box in
                let provider = AccountProvider()
                let registration = try await box.bridge.register(
                    provider, as: .init(name: "accounts", capabilities: [.dial]))
                let call = try await box.bridge.calls.place("110")
                #expect(await provider.accounts == [CallAccount()])
                #expect(try await box.bridge.calls.list().first?.account == CallAccount())
                try await registration.update(call, .ended)
            }
        }

        @Test func `S4.5 library: the presentation of calls changes only while no call exists`() async throws {
            try await run(operatorName: "kiosk") { box in
                let headset = try await box.establishedHeadset()
                try await byName(headset)
                #expect(try await network(headset) == "+COPS: 0,0,\"kiosk\"")
                let registration = try await box.register()
                let call = try await box.startCall(registration)
                let sound = "/nonexistent/ring.wav"
                let options = BridgeConfiguration.CallOptions(
                    localizedName: "Haustelefon", ringtoneSound: sound, iconFileName: "/usr/share/pixmaps/phone.png")
                let each: [BridgeConfiguration.CallOptions] = [
                    .init(localizedName: options.localizedName), .init(ringtoneSound: sound),
                    .init(iconFileName: options.iconFileName),
                ]
                for one in each {
                    let error = await refusal { () throws(BridgeError) in
                        try await box.bridge.configure(BridgeConfiguration(displayName: "desk", callOptions: one))
                    }
                    #expect(error?.code == .callsActive && error?.message.contains("no call") == true, "\(one)")
                }
                #expect(try await Program(box.address)("config", "localizedName", "x").status == 1)
                #expect(try await box.bridge.configuration() == BridgeConfiguration())
                try await registration.update(call, .ended)
                try await box.bridge.configure(BridgeConfiguration(displayName: "desk", callOptions: options))
                #expect(try await box.bridge.configuration().callOptions == options)
                #expect(try await network(headset) == "+COPS: 0,0,\"Haustelefon\"")
                // The file replaces the ring tone: its absence is reported.
                _ = try await registration.reportIncoming(number: "+4930123456")
                #expect(try await box.problem("ring.file").what.hasPrefix(sound))
            }
        }

        @Test func `S4.20 library: logging out clears the identity and keeps pairings, unless asked to forget them`()
            async throws
        {
            try await run { box in
                try await box.bridge.deactivate()
                let shown = BridgeConfiguration.CallOptions(localizedName: "Haustelefon")
                let identity = BridgeConfiguration(
                    accountID: "4711", userID: "anna", displayName: "desk", phoneNumber: "110", callOptions: shown)
                try await box.bridge.configure(identity)
                try await box.bridge.activate()
                let ears = try await box.connect(Box.first)
                let registration = try await box.register()
                _ = try await box.startCall(registration)
                let both = Set(["\(Box.first)", "\(Box.second)"])
                #expect(try await pairings(box) == both)
                try await box.bridge.logout()
                #expect(try await box.bridge.state == .inactive)
                try await ears.hear(.closed)
                #expect(try await box.bridge.calls.list().isEmpty)
                #expect(try await box.bridge.configuration() == BridgeConfiguration(callOptions: shown))
                try await eventually("the adapter has its own name again") { try await alias(box) == "btcall" }
                #expect(try await pairings(box) == both)
                // Nothing of it returns with a restart, and the headset connects as before.
                box.bluez.disconnect(Box.first)
                try await box.restartDaemon()
                #expect(try await box.bridge.configuration() == BridgeConfiguration(callOptions: shown))
                _ = try await box.connect(Box.first)
                let program = try Program(box.address)
                #expect(try await program("logout").text == "logged out; headsets stay paired\n")
                #expect(try await pairings(box) == both)
                #expect(try await program("logout", "--forget-headsets").status == 0)
                #expect(try await pairings(box).isEmpty)
                try await eventually("no headset is listed") {
                    try await box.bridge.audioDeviceManager.audioDevices().allSatisfy { $0.address == nil }
                }
            }
        }

        @Test func `S4.20 library: without bluetoothd logging out works, and reports that no headset was forgotten`()
            async throws
        {
            try await run { box in
                try await box.bridge.configure(BridgeConfiguration(displayName: "desk"))
                box.bluez.stop()
                let error = await refusal { () throws(BridgeError) in
                    try await box.bridge.logout(forgettingHeadsets: true)
                }
                #expect(error?.code == .unavailable && error?.message.contains("systemctl start bluetooth") == true)
                #expect(try await box.bridge.state == .inactive)
                #expect(try await box.bridge.configuration() == BridgeConfiguration())
            }
        }
    }
}

/// An application that records the accounts of its requests.
private actor AccountProvider: CallProvider {
    private(set) var accounts: [CallAccount] = []

    func performStart(
        _ call: Call.ID, number: String, media: CallMedia, account: CallAccount
    ) async throws(ProviderRefusal) {
        accounts.append(account)
    }

    func performAnswer(_ call: Call.ID, media: CallMedia, account: CallAccount) async throws(ProviderRefusal) {
        accounts.append(account)
    }

    func performAnswer(_ call: Call.ID) async throws(ProviderRefusal) {}
    func performEnd(_ call: Call.ID, reason: String) async throws(ProviderRefusal) {}
    func audioReady(_ call: Call.ID, _ audio: CallAudio) async {}
}
