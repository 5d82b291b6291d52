import BTCall
import BTCallAPI
import BTCallBench
import BTCallDaemon
import BTCallSimulator
import BlueZ
import BluetoothTypes
import CallControl
import Configuration
import ControlLoop
import DBus
import Routing
import Telephony
import TestSupport
import Testing

extension DaemonTests {
    /// The message bus ends while a call is up: all applications leave it, but none has ended.
    @Suite @ControlPlane struct BusRestartTests {
        private let first = Choice("bluetooth:\(Box.first)") ?? .none

        @Test func `A call outlives a restart of the bus with its audio, and its application re-registers with it`()
            async throws
        {
            try await Box.run { box in
                try await box.prefer(.earpiece)
                let registration = try await box.register()
                let call = try await box.startCall(registration)
                try await box.route(.earpiece)
                try await box.playing("earpiece")
                let audio = box.telephone.requests.count { $0 == .audio(call) }
                box.stopBus()
                try await eventually("the daemon has lost the bus") { !box.connection.isConnected }
                #expect(box.daemon.calls.calls.count == 1)
                try await box.playing("earpiece")
                try box.startBus()
                try await box.back("test")
                #expect(box.daemon.calls.calls.map(\.uuid) == ["\(call)"])
                #expect(box.daemon.calls.calls.first?.call.state == .active)
                // The audio is the same as before, and the application keeps its capabilities.
                #expect(box.telephone.requests.count { $0 == .audio(call) } == audio)
                #expect(!box.telephone.requests.contains(.released))
                try await box.playing("earpiece")
                try await registration.update(call, .held)
                try await registration.update(call, .active)
                try await box.bridge.calls.hangup(call)
                #expect(box.telephone.requests.contains(.end(call, "localHangUp")))
            }
        }

        @Test func `An application without calls re-registers as well`() async throws {
            try await Box.run { box in
                let registration = try await box.register()
                box.stopBus()
                try await eventually("the daemon has lost the bus") { !box.connection.isConnected }
                try box.startBus()
                try await eventually("a call can be reported") {
                    (try? await registration.reportIncoming(number: "+4930123456")) != nil
                }
                #expect(box.daemon.calls.calls.count == 1)
                #expect(!box.telephone.requests.contains(.released))
            }
        }

        @Test func `When an application does not come back its calls end as if it had left`() async throws {
            try await Box.run(
                configure: { $0.timeouts.absence = .milliseconds(300) },
                body: { box in
                    let application = try BusConnection(box.address)
                    let path = "/test/application"
                    let mortal = Mortal()
                    application.export([mortal.interface], at: path)
                    _ = try await application.call(
                        BTCallName.bus, BTCallPath.calls, BTCallName.Interface.calls, BTCallName.Calls.registerProvider,
                        [.objectPath(path), .vardict(["name": .string("mortal")])])
                    _ = try await application.call(
                        BTCallName.bus, BTCallPath.calls, BTCallName.Interface.calls, BTCallName.Calls.reportOutgoing,
                        [.objectPath(path), .string("1001"), .vardict(["state": .string("active")])])
                    #expect(box.daemon.calls.calls.count == 1)
                    box.stopBus()
                    try await eventually("the daemon has lost the bus") { !box.connection.isConnected }
                    application.close()
                    #expect(box.daemon.calls.calls.count == 1)
                    try box.startBus()
                    try await eventually("its call has ended") { box.daemon.calls.calls.isEmpty }
                    try await eventually("the log says so") {
                        !box.log.containing("mortal has not come back to the bus within 0.3 seconds: its calls end")
                            .isEmpty
                    }
                })
        }

        @Test func `A registration with calls that wait for no application is refused`() async throws {
            try await Box.run { box in
                let registration = try await box.register()
                let call = try await box.startCall(registration)
                do throws(BusError) {
                    _ = try await box.client.call(
                        BTCallName.bus, BTCallPath.calls, BTCallName.Interface.calls, BTCallName.Calls.registerProvider,
                        [
                            .objectPath("/org/btcall/client/provider1"),
                            .vardict(["name": .string("test"), "calls": .objectPaths([BTCallPath.call("\(call)")])]),
                        ])
                    Issue.record("a call of another application was taken")
                } catch {
                    #expect(error.hasName("org.btcall.Error.NoSuchCall"))
                    #expect(error.message.hasPrefix("no call in calls waits for this application to come back"))
                }
                // On a running bus, an application that leaves has ended.
                try await registration.unregister()
                try await eventually("the call has ended") { box.daemon.calls.calls.isEmpty }
            }
        }
    }
}

extension Box {
    /// Waits until the application and the daemon know each other again.
    fileprivate func back(_ what: String) async throws {
        try await eventually("the daemon is on the bus") { self.connection.isConnected }
        try await eventually("the application has come back") {
            !self.log.containing("has come back to the bus with its calls (1)").isEmpty
        }
    }
}

/// An object that accepts a provider's requests and does nothing.
@ControlPlane
private final class Mortal {
    var interface: ExportedInterface {
        ExportedInterface(
            BTCallName.Interface.callProvider,
            methods: [
                .init(
                    BTCallName.CallProvider.audioReady, in: [("call", "o"), ("audio", "h"), ("format", "a{sv}")]
                ) { _ throws(BusError) in [] }
            ])
    }
}
