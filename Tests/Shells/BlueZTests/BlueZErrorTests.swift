import DBus
import Testing

@testable import BlueZ

@Suite struct BlueZErrorTests {
    @Test func `every kind of request distinguishes the common errors`() {
        check(PairingError.self, objectAbsent: .unknownDevice)
        check(DeviceCallError.self, objectAbsent: .unknownDevice)
        check(MediaError.self, objectAbsent: .gone)
    }

    private func check<Kind: BlueZError & Equatable>(_ kind: Kind.Type, objectAbsent: Kind) {
        let expected: [(String, (BusError) -> Kind)] = [
            (BusError.Name.serviceUnknown, { _ in .serviceAbsent }),
            (BusError.Name.nameHasNoOwner, { _ in .serviceAbsent }),
            (BusError.Name.disconnected, { _ in .serviceAbsent }),
            (BusError.Name.unknownObject, { _ in objectAbsent }), (BusError.Name.unknownMethod, { _ in objectAbsent }),
            (BusError.Name.noReply, { _ in .timedOut }), (BusError.Name.cancelled, { _ in .cancelled }),
            (BusError.Name.accessDenied, { .notPermitted($0) }), (BusError.Name.limitsExceeded, { .failed($0) }),
            ("org.bluez.Error.Other", { .failed($0) }), ("org.bluez.Error.", { .failed($0) }), ("", { .failed($0) }),
        ]
        for (name, outcome) in expected {
            let error = BusError(name: name, message: "text")
            #expect(Kind(error) == outcome(error), "\(kind): \(name)")
        }
        #expect("\(Kind.serviceAbsent)".contains("`systemctl start bluetooth`"))
        #expect("\(Kind.notPermitted(.failed("why")))".contains("group `bluetooth`"))
    }
}
