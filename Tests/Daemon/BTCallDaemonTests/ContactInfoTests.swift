import BTCall
import BTCallAPI
import BTCallDaemon
import BTCallSimulator
import CallControl
import Configuration
import ControlLoop
import DBus
import Synchronization
import TestSupport
import Testing

extension DaemonTests {
    @Suite @ControlPlane struct ContactInfoTests {
        private nonisolated static let alice = ContactInfo(
            contactId: "42", displayName: "Alice", avatarUrl: "https://example.org/alice.png",
            phoneNumber: "555 0100")

        @Test func `S4.8 library: a slow resolver does not delay RING, and its late answer updates the name`()
            async throws
        {
            try await Box.run(
                configure: { $0.timeouts.contact = .milliseconds(50) },
                body: { box in
                    let headset = try await box.rawHeadset()
                    try await headset.establishWithCallWaiting()
                    let registration = try await box.register()
                    let isHolding = Mutex(true)
                    let resolution = try await box.bridge.resolveContactInfo { _ in
                        while isHolding.withLock({ $0 }) {
                            await ControlLoop.shared.sleep(for: .milliseconds(5))
                        }
                        return Self.alice
                    }
                    // If RING waited for the answer, it would never be sent.
                    let call = try await registration.reportIncoming(number: "5550100")
                    try await headset.hear("RING")
                    try await headset.hear("+CLIP: \"5550100\",129")
                    var calls = try await box.bridge.calls.list()
                    #expect(
                        calls.map(\.id) == [call] && calls.first?.name == nil && calls.first?.contact == nil)
                    isHolding.withLock { $0 = false }
                    try await eventually("it is known") {
                        calls = try await box.bridge.calls.list()
                        return calls.first?.contact == Self.alice
                    }
                    #expect(calls.first?.name == "Alice" && calls.first?.number == "5550100")
                    try await headset.hear("+CLIP: \"5550100\",129,,,\"Alice\"")
                    try await resolution.end()
                })
        }

        @Test
        func `S4.8 library: a contact resolved in time is shown with the call, at headsets and on the bus`()
            async throws
        {
            try await Box.run(
                configure: { $0.timeouts.contact = .seconds(10) },
                body: { box in
                    let headset = try await box.rawHeadset()
                    try await headset.establishWithCallWaiting()
                    let registration = try await box.register()
                    let resolution = try await box.bridge.resolveContactInfo { number in
                        switch number {
                        case "5550100": Self.alice
                        case "5550101":
                            ContactInfo(
                                displayName: "Bob", avatarUrl: String(repeating: "x", count: 1025), phoneNumber: "")
                        case "5550102": ContactInfo(contactId: "7", displayName: "", phoneNumber: "5550102")
                        default: nil
                        }
                    }
                    var events = await box.bridge.events().makeAsyncIterator()
                    let call = try await registration.reportIncoming(number: "5550100")
                    try await headset.hear("+CLIP: \"5550100\",129,,,\"Alice\"")
                    #expect(!headset.lines.contains("+CLIP: \"5550100\",129"))
                    var added: Call?
                    while added == nil, let event = await events.next() {
                        if case .callAdded(let call) = event { added = call }
                    }
                    #expect(added?.id == call && added?.name == "Alice" && added?.contact == Self.alice)
                    let property = try await box.client.call(
                        BTCallName.bus, BTCallPath.call(call.description), "org.freedesktop.DBus.Properties",
                        "Get",
                        [.string(BTCallName.Interface.call), .string("Contact")])
                    #expect(
                        property.first?.unwrapped.vardictValue == [
                            "contactId": "42", "displayName": "Alice",
                            "avatarUrl": "https://example.org/alice.png",
                            "phoneNumber": "555 0100",
                        ])
                    // An address that is too long, a missing name and an unknown number give no contact.
                    for number in ["5550101", "5550102", "5550103"] {
                        _ = try await registration.reportIncoming(number: number)
                        let last = try await box.bridge.calls.list().last
                        #expect(last?.number == number && last?.name == nil && last?.contact == nil)
                    }
                    try await resolution.end()
                })
        }

        @Test func `S4.8 library: a resolver gets who calls, also of a call with a name, which does not wait`()
            async throws
        {
            try await Box.run(
                configure: { $0.timeouts.contact = .seconds(10) },
                body: { box in
                    let registration = try await box.register()
                    let name = try #require(box.daemon.calls.providers.first?.owner.name)
                    let asked = Mutex<[CallerContext]>([])
                    let isHolding = Mutex(false)
                    let resolution = try await box.bridge.resolveContactInfo { _, caller in
                        asked.withLock { $0.append(caller) }
                        while isHolding.withLock({ $0 }) {
                            await ControlLoop.shared.sleep(for: .milliseconds(5))
                        }
                        return caller.callerId == "sip:bob@example.org" ? Self.alice : nil
                    }
                    _ = try await registration.reportIncoming(
                        number: "5550101", remoteAddress: "sip:bob@example.org")
                    #expect(try await box.bridge.calls.list().last?.contact == Self.alice)
                    // If a call with a name waited, this would not return.
                    isHolding.withLock { $0 = true }
                    let named = try await registration.reportIncoming(
                        number: "5550102", name: "Gate", remoteAddress: "sip:bob@example.org")
                    var call = try await box.bridge.calls.list().last
                    #expect(call?.id == named && call?.name == "Gate" && call?.contact == nil)
                    isHolding.withLock { $0 = false }
                    try await eventually("its contact is shown") {
                        call = try await box.bridge.calls.list().last
                        return call?.contact == Self.alice
                    }
                    #expect(call?.name == "Gate")
                    #expect(box.log.containing("notice", "no longer wait for it").isEmpty)
                    let seen = asked.withLock { $0 }
                    #expect(seen.map(\.callerName) == [nil, "Gate"])
                    #expect(seen.map(\.callerId) == ["sip:bob@example.org", "sip:bob@example.org"])
                    #expect(seen.map(\.provider) == [name, name])
                    try await resolution.end()
                })
        }
    }
}
