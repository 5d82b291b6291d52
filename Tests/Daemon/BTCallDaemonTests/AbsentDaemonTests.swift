import BTCall
import BTCallAPI
import BTCallSimulator
import ControlLoop
import DBus
import Foundation
import TestSupport
import Testing

extension DaemonTests {
    /// The library before the daemon starts, and after it has gone.
    @Suite @ControlPlane struct AbsentDaemonTests {
        @Test
        func `S4.1 library: a program may start before btcalld: its requests say what to do, and work once it runs`()
            async throws
        {
            var states: StreamLog<CallBridge.State?>?
            var events: StreamLog<BridgeEvent>?
            try await Box.run(
                prepare: { box in
                    for (name, request) in Self.requests(box.bridge, box.telephone) {
                        let error = await refusal(request)
                        #expect(error?.code == .notRunning, "\(name)")
                        #expect(
                            error?.message
                                == "btcalld is not running on the bus at \(box.address): start it with "
                                + "`btcalld --bus \(box.address)`", "\(name)")
                    }
                    states = StreamLog(await box.bridge.states())
                    events = StreamLog(await box.bridge.events())
                    try await eventually("the streams report the daemon as absent") {
                        states?.elements == [nil] && events?.elements == [.daemonVanished]
                    }
                },
                body: { box in
                    try await eventually("the streams report the daemon as present") {
                        states?.elements == [nil, .active] && events?.elements.dropFirst().first == .daemonAppeared
                    }
                    for (name, request) in Self.requests(box.bridge, box.telephone) {
                        #expect(await refusal(request) == nil, "\(name)")
                    }
                    let later = StreamLog(await box.bridge.states())
                    try await eventually("the present value comes first") { later.elements == [.active] }
                    try await box.restartDaemon()
                    try await eventually("it is active again") { states?.elements.count == 6 }
                    #expect(states?.elements == [nil, .active, .deactivating, .inactive, nil, .active])
                })
        }

        /// One request of each part of the library that needs the daemon.
        private static func requests(
            _ bridge: CallBridge, _ telephone: Telephone
        ) -> [(String, @ControlPlane () async throws(BridgeError) -> Void)] {
            [
                ("activate", { () async throws(BridgeError) in try await bridge.activate() }),
                ("state", { () async throws(BridgeError) in _ = try await bridge.state }),
                ("status", { () async throws(BridgeError) in _ = try await bridge.status() }),
                ("configuration", { () async throws(BridgeError) in _ = try await bridge.configuration() }),
                (
                    "configure",
                    { () async throws(BridgeError) in try await bridge.configure(BridgeConfiguration()) }
                ),
                ("settings", { () async throws(BridgeError) in _ = try await bridge.settings() }),
                ("devices", { () async throws(BridgeError) in _ = try await bridge.audioDeviceManager.audioDevices() }),
                ("calls", { () async throws(BridgeError) in _ = try await bridge.calls.list() }),
                ("mute", { () async throws(BridgeError) in try await bridge.calls.setMuted(false) }),
                ("session", { () async throws(BridgeError) in _ = try await bridge.session.isActive() }),
                ("audio", { () async throws(BridgeError) in _ = try await bridge.audio.microphoneVolume() }),
                (
                    "register",
                    { () async throws(BridgeError) in
                        let registration = try await bridge.register(telephone, as: .init(name: "first"))
                        try await registration.unregister()
                    }
                ),
            ]
        }
    }
}
