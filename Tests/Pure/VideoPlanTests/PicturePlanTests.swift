import Testing
import VideoPlan

/// What the far end gets, who gets a picture, and when the camera is open.
@Suite struct PicturePlanTests {
    private static let call = "/org/btcall/calls/1"
    private static let other = "/org/btcall/calls/2"

    private static func active(sends: Bool = true, isEnabled: Bool = true) -> PictureCall {
        PictureCall(call, .active, sends: sends, isEnabled: isEnabled)
    }

    /// A box with a camera, a softphone that reads the output device, and one active call.
    private static func box(_ change: (inout PictureFacts) -> Void = { _ in }) -> PictureFacts {
        var facts = PictureFacts()
        facts.calls = [active()]
        facts.camera = .usable
        facts.hasOutputDevice = true
        change(&facts)
        return facts
    }

    /// A situation, and what follows.
    struct Row: Sendable, CustomTestStringConvertible {
        let testDescription: String
        let facts: PictureFacts
        let local: LocalPicture
        let wantsCamera: Bool

        init(_ name: String, _ local: LocalPicture, camera: Bool, _ change: (inout PictureFacts) -> Void) {
            testDescription = name
            facts = PicturePlanTests.box(change)
            self.local = local
            wantsCamera = camera
        }
    }

    static let rows = [
        Row("active", .camera, camera: true) { _ in },
        Row("no call", .none, camera: false) { $0.calls = [] },
        Row("ringing", .camera, camera: true) { $0.calls = [PictureCall(call, .ringing)] },
        Row("held", .card(.held), camera: false) { $0.calls = [PictureCall(call, .held)] },
        Row("held beside an active one", .camera, camera: true) {
            $0.calls = [PictureCall(call, .held), PictureCall(other, .active)]
        },
        Row("ringing beside a held one", .card(.held), camera: false) {
            $0.calls = [PictureCall(call, .ringing), PictureCall(other, .held)]
        },
        Row("ringing beside an active one", .camera, camera: true) {
            $0.calls = [PictureCall(call, .ringing), PictureCall(other, .active)]
        },
        Row("video disabled", .card(.disabled), camera: false) { $0.calls = [active(isEnabled: false)] },
        Row("video is only received", .card(.disabled), camera: false) { $0.calls = [active(sends: false)] },
        Row("held and disabled", .card(.held), camera: false) {
            $0.calls = [PictureCall(call, .held, isEnabled: false)]
        },
        Row("camera denied", .card(.privacy), camera: false) { $0.isCameraAllowed = false },
        Row("microphone denied", .card(.privacy), camera: false) { $0.isMicrophoneAllowed = false },
        Row("disabled and denied", .card(.disabled), camera: false) {
            $0.calls = [active(isEnabled: false)]
            $0.isCameraAllowed = false
        },
        Row("no camera", .card(.noCamera), camera: false) { $0.camera = .absent },
        Row("camera in use", .card(.inUse), camera: true) { $0.camera = .inUse },
        Row("camera fails", .card(.failed), camera: true) { $0.camera = .failing },
        Row("denied camera that is absent", .card(.privacy), camera: false) {
            $0.isCameraAllowed = false
            $0.camera = .absent
        },
        // Without anybody who gets the picture, the camera is the application's.
        Row("nobody gets it", .none, camera: false) { $0.hasOutputDevice = false },
        Row("nobody gets it, and it would be a card", .none, camera: false) {
            $0.hasOutputDevice = false
            $0.calls = [PictureCall(call, .held)]
        },
        Row("preview only", .camera, camera: true) {
            $0.hasOutputDevice = false
            $0.views[.local] = ViewSettings(.kms)
        },
        Row("remote view only", .none, camera: false) {
            $0.hasOutputDevice = false
            $0.views[.remote] = ViewSettings(.kms)
        },
        Row("tap only", .camera, camera: true) {
            $0.hasOutputDevice = false
            $0.localTaps = [call]
        },
        Row("tap of another call only", .none, camera: false) {
            $0.hasOutputDevice = false
            $0.localTaps = [other]
        },
        Row("tap of the remote picture only", .none, camera: false) {
            $0.hasOutputDevice = false
            $0.remoteTaps = [call]
        },
        Row("tap without a call", .camera, camera: true) {
            $0.calls = []
            $0.hasCameraTap = true
        },
        Row("tap without a call, microphone denied", .camera, camera: true) {
            $0.calls = []
            $0.hasCameraTap = true
            $0.isMicrophoneAllowed = false
        },
        Row("tap without a call, camera denied", .card(.privacy), camera: false) {
            $0.calls = []
            $0.hasCameraTap = true
            $0.isCameraAllowed = false
        },
        Row("tap without a call, in a held call", .card(.held), camera: false) {
            $0.hasOutputDevice = false
            $0.hasCameraTap = true
            $0.calls = [PictureCall(call, .held)]
        },
        Row("tap without a call and no camera", .card(.noCamera), camera: false) {
            $0.calls = []
            $0.hasCameraTap = true
            $0.camera = .absent
        },
    ]

    @Test(arguments: rows) func `the far end gets what the rules say`(row: Row) {
        let plan = PicturePlan(row.facts)
        #expect(plan.local == row.local)
        #expect(plan.wantsCamera == row.wantsCamera)
    }

    @Test func `the active call is in the foreground, then the held one, then the first that rings`() {
        var facts = Self.box()
        facts.calls = [
            PictureCall("/a", .ringing), PictureCall("/b", .ringing), PictureCall("/c", .held),
            PictureCall("/d", .active),
        ]
        for expected in ["/d", "/c", "/a", "/b"] {
            #expect(PicturePlan(facts).call == expected)
            facts.calls.removeAll { $0.path == expected }
        }
        #expect(PicturePlan(facts).call == nil)
    }

    @Test func `the output device is written in every picture call, and only then`() {
        #expect(PicturePlan(Self.box()).writesOutputDevice)
        #expect(PicturePlan(Self.box { $0.calls = [PictureCall(Self.call, .held)] }).writesOutputDevice)
        #expect(!PicturePlan(Self.box { $0.calls = [] }).writesOutputDevice)
        let tapped = Self.box {
            $0.calls = []
            $0.hasCameraTap = true
        }
        #expect(!PicturePlan(tapped).writesOutputDevice)
        #expect(!PicturePlan(Self.box { $0.hasOutputDevice = false }).writesOutputDevice)
    }

    @Test func `a view runs in a call that has the picture of its side`() {
        let both: [PictureSide: ViewSettings] = [.local: ViewSettings(.kms), .remote: ViewSettings(.kms)]
        #expect(PicturePlan(Self.box { $0.views = both }).views == [.local])
        let offered = Self.box {
            $0.views = both
            $0.offers = [Self.call]
        }
        #expect(PicturePlan(offered).views == [.local, .remote])
        let elsewhere = Self.box {
            $0.views = both
            $0.offers = [Self.other]
        }
        #expect(PicturePlan(elsewhere).views == [.local])
        let idle = Self.box {
            $0.views = both
            $0.offers = [Self.call]
            $0.calls = []
        }
        #expect(PicturePlan(idle).views == [])
    }

    @Test func `the remote source is read in a call, if somebody gets it and no application gives a picture`() {
        func reads(_ change: (inout PictureFacts) -> Void) -> Bool {
            PicturePlan(
                Self.box {
                    $0.hasRemoteSource = true
                    change(&$0)
                }
            ).readsRemoteSource
        }
        #expect(!reads { _ in })
        #expect(reads { $0.views[.remote] = ViewSettings(.wayland) })
        #expect(reads { $0.remoteTaps = [Self.call] })
        #expect(!reads { $0.remoteTaps = [Self.other] })
        #expect(
            !reads {
                $0.remoteTaps = [Self.call]
                $0.offers = [Self.call]
            })
        #expect(
            !reads {
                $0.remoteTaps = [Self.call]
                $0.calls = []
            })
        #expect(
            !reads {
                $0.remoteTaps = [Self.call]
                $0.hasRemoteSource = false
            })
    }

    @Test func `every combination of facts keeps the rules`() {
        for state in PictureCall.State.allCases {
            for camera in CameraState.allCases {
                for bits in 0..<64 {
                    var facts = PictureFacts()
                    facts.camera = camera
                    facts.isCameraAllowed = bits & 1 == 0
                    facts.isMicrophoneAllowed = bits & 2 == 0
                    facts.hasOutputDevice = bits & 4 == 0
                    facts.hasCameraTap = bits & 8 == 0
                    if bits & 16 == 0 { facts.calls = [PictureCall(Self.call, state, isEnabled: bits & 32 == 0)] }
                    let plan = PicturePlan(facts)
                    // The camera's picture needs the camera, and what forbids it keeps it closed.
                    if plan.local == .camera { #expect(plan.wantsCamera && camera == .usable) }
                    if !facts.isCameraAllowed || camera == .absent { #expect(!plan.wantsCamera) }
                    if plan.local == .none { #expect(!plan.wantsCamera) }
                    if plan.call != nil, state == .held { #expect(!plan.wantsCamera) }
                    #expect((plan.call == nil) == facts.calls.isEmpty)
                }
            }
        }
    }
}
