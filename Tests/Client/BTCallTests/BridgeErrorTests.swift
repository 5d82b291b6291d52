import DBus
import Testing

@testable import BTCall

@Suite struct BridgeErrorTests {
    @Test(arguments: [
        BusError.Name.serviceUnknown, BusError.Name.nameHasNoOwner, "org.freedesktop.DBus.Error.Spawn.ChildExited",
        "org.freedesktop.systemd1.NoSuchUnit",
    ])
    func `An absent daemon is one error, under any of the bus's names`(name: String) {
        let error = BridgeError(BusError(name: name, message: "?"), on: .system)
        #expect(error.code == .notRunning)
        #expect(
            error.message
                == "btcalld is not running on the system bus: start it with `systemctl start btcalld`")
    }

    @Test func `The daemon's own errors keep their messages`() {
        let error = BridgeError(BusError(name: "org.btcall.Error.Unavailable", message: "not there"), on: .system)
        #expect(error.code == .unavailable && error.message == "not there")
        #expect(error.name == "org.btcall.Error.Unavailable")
    }

    @Test func `A call without an object is an unknown call`() {
        #expect(BridgeError(.unknownObject("no object"), on: .system).code == .noSuchCall)
    }

    @Test func `Errors of the bus say what to do`() {
        #expect(BridgeError(.accessDenied("no"), on: .system).message.contains("group btcall"))
        #expect(BridgeError(.noReply("late"), on: .system).code == .timedOut)
        #expect(
            BridgeError(.disconnected("gone"), on: .session).message == "the connection to the session bus was closed")
        #expect(BridgeError(BusError(name: "a.b", message: ""), on: .system).message == "a.b")
        #expect(BridgeError(connecting: .failed("refused"), to: .session).code == .noBus)
    }
}
