import BTCallAPI
import DBus
import Glibc
import Testing

/// The dictionaries of btcall-video about pictures and views.
@Suite struct PictureDescriptionTests {
    /// The values as received from the bus: each in its variant.
    private func received(_ values: [String: Value]) throws -> Fields {
        try Fields(.variant(.vardict(values)), of: "test")
    }

    private func request(_ values: [String: Value]) throws -> ViewRequest? {
        try ViewRequest(Fields(.vardict(values), .setView))
    }

    @Test func `a picture is decoded as encoded, and has only what is known`() throws {
        let card = PictureDescription(
            local: .card, cause: .noCamera, call: "/org/btcall/calls/1", width: 1280, height: 720, framesPerSecond: 30,
            isRemote: true, isBackgrounded: false)
        #expect(try PictureDescription(received(card.fields)) == card)
        #expect(card.fields["call"] == .objectPath("/org/btcall/calls/1") && card.fields["cause"] == "noCamera")
        let none = PictureDescription()
        #expect(try PictureDescription(received(none.fields)) == none)
        #expect(Set(none.fields.keys) == ["local", "remote", "backgrounded"])
        for cause in PictureDescription.Cause.allCases {
            let picture = PictureDescription(local: .card, cause: cause)
            #expect(try PictureDescription(received(picture.fields)).cause == cause)
        }
    }

    @Test func `a card whose cause is not known here is a card, and only a card has a cause`() throws {
        #expect(try PictureDescription(received(["local": "card", "cause": "smoke"])).cause == .failed)
        #expect(try PictureDescription(received(["local": "camera", "cause": "held"])).cause == nil)
        #expect(throws: APIError.self) { try PictureDescription(received(["local": "mirror"])) }
    }

    @Test func `an output device is decoded as encoded, and none as nil`() throws {
        for output in [
            OutputDescription(path: "/dev/video-btcall", isRunning: true),
            OutputDescription(path: "/dev/video9", problem: "there is no such device"),
        ] {
            #expect(try OutputDescription(received(output.fields)) == output)
        }
        #expect(try OutputDescription(received([:])) == nil)
    }

    private static let views = [
        ViewRequest(.none), ViewRequest(.kms),
        ViewRequest(
            .kms, device: "/dev/dri/card1", rectangle: RectangleDescription(x: -20, y: 40, width: 320, height: 240),
            rotation: 270),
        ViewRequest(.wayland, device: "wayland-1"), ViewRequest(.fbdev, device: "/dev/fb0", rotation: 90),
        ViewRequest(.device, device: "/dev/video-btcall", rotation: 180),
    ]

    @Test(arguments: views)
    func `a view is decoded as encoded`(view: ViewRequest) throws {
        #expect(try request(view.fields) == view)
        let description = ViewDescription(view, isRunning: true, problem: "no display")
        #expect(try ViewDescription(received(description.fields)) == description)
    }

    @Test func `a view to a descriptor has it, and shows it to nobody else`() throws {
        let descriptor = PassedDescriptor(taking: dup(0))
        let view = ViewRequest(.descriptor, descriptor: descriptor)
        #expect(try request(view.fields)?.descriptor === descriptor)
        #expect(ViewDescription(view).fields["descriptor"] == nil)
    }

    @Test func `an empty view is the configured one`() throws { #expect(try request([:]) == nil) }

    private static let refusals: [([String: Value], String)] = [
        (["sink": "screen"], "sink in the view of SetView is \"screen\"; accepted: none, kms, wayland, fb"),
        (["rotation": .uint32(90)], "the view of SetView has no sink (s)"),
        (["sink": "kms", "rotation": "90"], "rotation in the view of SetView has to be of type integer, not s"),
        (["sink": "kms", "rectangle": "0,0,8x8"], "rectangle in the view of SetView has to be of type (iiuu), not s"),
        (["sink": "kms", "mirror": true], "unknown in the view of SetView: \"mirror\"; accepted: sink, device"),
        (["sink": "descriptor"], "descriptor in the view of SetView is missing (h)"),
        (
            ["sink": "kms", "device": .string("/dev/" + String(repeating: "d", count: 300))],
            "device in the view of SetView is 305 bytes long; accepted: at most 256 bytes"
        ),
        (
            ["sink": "kms", "rectangle": .structure([.int32(0), .int32(0), .uint32(8)])],
            "rectangle in the view of SetView has to be of type (iiuu), not (iiu)"
        ),
    ]

    @Test(arguments: refusals)
    func `a view that is not accepted is refused with what is`(values: [String: Value], message: String) {
        let error = #expect(throws: APIError.self) { try request(values) }
        #expect(error?.code == .invalidArgument && error?.message.hasPrefix(message) == true, "\(error?.message ?? "")")
    }

    @Test func `a descriptor goes with its own sink only`() {
        let values: [String: Value] = ["sink": "kms", "descriptor": .unixDescriptor(PassedDescriptor(taking: dup(0)))]
        let error = #expect(throws: APIError.self) { try request(values) }
        #expect(error?.message == "descriptor in the view of SetView is for the sink descriptor only")
    }

    @Test func `a side is one of two words`() throws {
        #expect(try PictureSideWord(argument: "remote") == .remote)
        let error = #expect(throws: APIError.self) { try PictureSideWord(argument: "both") }
        #expect(error?.message == "side is \"both\"; accepted: local, remote")
    }
}
