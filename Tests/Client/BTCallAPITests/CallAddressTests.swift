import BTCallAPI
import DBus
import Testing

@Suite struct CallAddressTests {
    @Test(
        arguments: [
            ("sip:bob@example.org", "sip", "sip:bob@example.org", "sip:bob@example.org"),
            ("TEL:+4930", "tel", "+4930", "TEL:+4930"), ("tel:", "tel", "", "tel:"),
            ("x-9.a+b:1", "x-9.a+b", "x-9.a+b:1", "x-9.a+b:1"),
            ("+4930", nil, "+4930", "tel:+4930"), ("*100#", nil, "*100#", "tel:*100#"), ("", nil, "", ""),
            ("12:30", nil, "12:30", "12:30"), (":x", nil, ":x", ":x"), ("Gate 3", nil, "Gate 3", "Gate 3"),
            ("ü:1", nil, "ü:1", "ü:1"),
        ] as [(String, String?, String, String)])
    func `An address has a scheme, a number to dial, and a URI`(
        _ text: String, _ scheme: String?, _ number: String, _ uri: String
    ) {
        let address = CallAddress(text)
        #expect(address.scheme == scheme && address.number == number && address.uri == uri)
    }

    @Test func `Schemes of a provider are lower-case words, and limited in number`() throws {
        let options = try ProviderOptions(Fields(["schemes": .strings(["SIP", "intercom"])], of: "options"))
        #expect(options.schemes == ["sip", "intercom"])
        #expect(try ProviderOptions(Fields(options.fields, of: "options")) == options)
        for schemes in [
            ["sip:"], [""], ["1a"], [String(repeating: "a", count: 33)], Array(repeating: "sip", count: 17),
        ] {
            let fields = Fields(["schemes": .strings(schemes)], of: "options")
            #expect(throws: APIError.self) { try ProviderOptions(fields) }
        }
    }

    @Test func `A logged call is decoded as it was encoded, and a reason tells whether it was missed`() throws {
        var call = CallLogDescription(
            id: "1", direction: .incoming, number: "5550100", name: "Alice", provider: "phone", began: 1, answered: 2,
            ended: 9, reason: "remoteHangUp", device: "earpiece")
        #expect(try CallLogDescription(Fields(call.fields, of: "Log")) == call)
        #expect(call.durationMs == 7 && !call.isMissed)
        call.answered = nil
        #expect(try CallLogDescription(Fields(call.fields, of: "Log")) == call)
        #expect(call.durationMs == 0 && call.isMissed)
        call.reason = "rejected"
        #expect(!call.isMissed)
        call.reason = "filtered"
        #expect(call.isMissed)
        call.direction = .outgoing
        #expect(!call.isMissed)
    }

    @Test func `Each camera setting has a range`() throws {
        let settings = CameraDescription(camera: "back", width: 640, height: 480, framesPerSecond: 15)
        #expect(try CameraDescription(Fields(settings.fields, of: "settings")) == settings)
        let wrong: [(String, Value)] = [
            ("camera", ""), ("camera", .string(String(repeating: "x", count: 65))), ("width", .uint32(0)),
            ("height", .uint32(16385)), ("framesPerSecond", .uint32(1001)), ("width", "640"),
        ]
        for (name, value) in wrong {
            let fields = Fields(settings.fields.merging([name: value]) { $1 }, of: "settings")
            #expect(throws: APIError.self) { try CameraDescription(fields) }
        }
        for name in settings.fields.keys {
            let fields = Fields(settings.fields.filter { $0.key != name }, of: "settings")
            #expect(throws: APIError.self) { try CameraDescription(fields) }
        }
    }
}
