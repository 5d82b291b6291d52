import BTCall
import BTCallAPI
import BluetoothTypes
import Cameras
import CommandTestSupport
import ControlLoop
import DBus
import Foundation
import Glibc
import Pictures
import TestSupport
import Testing
import VideoCapture
import VideoPlan

@testable import btcall_video

/// The pictures of calls, as clients of the bus see them.
@Suite(.serialized, .timeLimit(.minutes(3))) @ControlPlane struct PictureServiceTests {
    private let box: PictureBox

    init() async throws {
        signal(SIGPIPE, SIG_IGN)
        box = try await PictureBox()
        try box.plugBoth()
    }

    private func refusal(_ member: String, _ arguments: [Value]) async -> BusError? {
        do throws(BusError) {
            try await box.ask(member, arguments)
            return nil
        } catch {
            return error
        }
    }

    @Test func `S2.2 without a call with video there is no picture, and no camera is open`() async throws {
        try await box.video.start()
        let call = box.call(hasVideo: false)
        #expect(try await box.picture() == PictureDescription())
        #expect(box.pictures?.local.devices == [] && box.video.cameras.openDrivers == 0)
        box.daemon.end(call, reason: "local")
        await box.stop()
    }

    @Test func `a call with video that nobody watches leaves the camera to its application`() async throws {
        box.video.settings.outputDevice = nil
        try await box.video.start()
        let call = box.call()
        try await box.eventually("the call is known") { $0.call == call }
        #expect(try await box.picture() == PictureDescription(call: call))
        #expect(box.pictures?.local.devices == [])
        await box.stop()
    }

    @Test func `the far end gets the camera in a call, a card while it is held or disabled, then nothing`()
        async throws
    {
        try await box.video.start()
        let call = box.call()
        try await box.eventually("the camera is seen") { $0.local == .camera }
        let seen = try await box.picture()
        #expect(seen.call == call && seen.cause == nil && seen.width == 320 && seen.height == 240)
        #expect(seen.framesPerSecond == 30 && !seen.isRemote && !seen.isBackgrounded)
        try await eventually("the light is on") { box.daemon.cameraUses == [true] }
        box.daemon.change(call, .held)
        try await box.eventually("the card is shown") { $0.local == .card && $0.cause == .held }
        try await eventually("the light is off") { box.daemon.cameraUses == [true, false] }
        #expect(box.pictures?.local.devices == [])
        box.daemon.change(call, .active)
        try await box.eventually("the camera is seen again") { $0.local == .camera }
        box.daemon.revise(call) { $0.isLocalVideoEnabled = false }
        try await box.eventually("the card is shown") { $0.cause == .disabled }
        box.daemon.revise(call) { $0.isLocalVideoEnabled = true }
        try await box.eventually("the camera is seen again") { $0.local == .camera }
        box.daemon.revise(call) { $0.video = .receiveOnly }
        try await box.eventually("the card is shown") { $0.cause == .disabled }
        box.daemon.end(call, reason: "remote")
        try await box.eventually("there is no picture") { $0 == PictureDescription() }
        await box.stop()
    }

    @Test func `a denied microphone denies the camera in a call, too`() async throws {
        try await box.video.start()
        _ = box.call()
        try await box.eventually("the camera is seen") { $0.local == .camera }
        box.daemon.audioProperties["MicrophoneAccess"] = "denied"
        box.daemon.bus.propertiesChanged(
            path: BTCallPath.audio, interface: BTCallName.Interface.audio, ["MicrophoneAccess"])
        try await box.eventually("the card is shown") { $0.cause == .privacy }
        #expect(box.pictures?.local.devices == [])
        await box.stop()
    }

    @Test func `a camera that is pulled in a call gives way to the card, and returns`() async throws {
        box.video.settings.names.front = VideoBox.door.id
        try await box.video.start()
        _ = box.call()
        try await box.eventually("the camera is seen") { $0.local == .camera }
        box.video.cameras.remove(VideoBox.door.id)
        try await box.eventually("the card is shown") { $0.local == .card && $0.cause == .noCamera }
        #expect(box.pictures?.local.devices == [])
        let back = Camera(id: VideoBox.door.id, path: "/dev/video4", name: "Door", node: 9)
        try box.video.cameras.add(back, "YUYV 1280x720@30")
        try await box.eventually("the camera is seen again") { $0.local == .camera }
        // The size stays for the call.
        #expect(try await box.picture().width == 320)
        await box.stop()
    }

    @Test func `S2.27 another camera is seen in a call at once, without a card`() async throws {
        let video = try await box.video.start()
        _ = box.call()
        try await box.eventually("the camera is seen") { $0.local == .camera }
        let viewer = LastPicture()
        box.pictures?.local.hub.add(viewer)
        try await eventually("the door is seen") { viewer.seen.colour == PictureBox.red }
        try await video.setCamera(VideoBox.hall.id)
        try await eventually("the hall is seen") { viewer.seen.colour == PictureBox.blue }
        #expect(viewer.seen.cards == 0)
        try await eventually("the door is closed") { box.pictures?.local.devices == ["/dev/video2 0"] }
        await box.stop()
    }

    @Test func `S2.4 another size in a call sets the camera again, and the picture keeps its size`() async throws {
        let video = try await box.video.start()
        _ = box.call()
        try await box.eventually("the camera is seen") { $0.local == .camera }
        let settings = box.video.cameras.settings.count
        try await video.setCapture(resolution: "320x240", framesPerSecond: 15)
        try await eventually("the camera is set") { box.video.cameras.settings.count == settings + 1 }
        try await box.eventually("the camera is seen") { $0.local == .camera }
        #expect(box.pictures?.local.devices == ["/dev/video0 0"])
        await box.stop()
    }

    @Test func `S2.5 the own picture does not make the camera one that is in use`() async throws {
        let video = try await box.video.start()
        _ = box.call()
        try await box.eventually("the camera is seen") { $0.local == .camera }
        box.video.cameras.programs = ["btcall-video"]
        let access = try await video.requestMicrophoneAndCameraPermission(microphone: false, camera: true)
        #expect(access.camera == .allowed)
        await box.stop()
    }

    @Test func `a camera in use by another program is tried again`() async throws {
        box.video.cameras.programs = ["cheese"]
        try await box.video.start()
        _ = box.call()
        try await box.eventually("the card is shown") { $0.local == .card && $0.cause == .inUse }
        box.video.cameras.programs = []
        try await box.eventually("the camera is seen") { $0.local == .camera }
        await box.stop()
    }

    @Test func `two calls: the active one has the picture`() async throws {
        try await box.video.start()
        let first = box.call(1)
        try await box.eventually("the camera is seen") { $0.local == .camera && $0.call == first }
        box.daemon.change(first, .held)
        let second = box.call(2)
        try await box.eventually("the second call has the camera") { $0.local == .camera && $0.call == second }
        box.daemon.end(second, reason: "remote")
        try await box.eventually("the first call has the card") { $0.cause == .held && $0.call == first }
        await box.stop()
    }

    @Test func `without btcalld there is no picture`() async throws {
        try await box.video.start()
        _ = box.call()
        try await box.eventually("the camera is seen") { $0.local == .camera }
        box.daemon.close()
        try await box.eventually("there is no picture") { $0 == PictureDescription() }
        await box.stop()
    }

    // MARK: Views

    @Test func `S2.2 a view in a descriptor gets the picture, and ends with its client`() async throws {
        try await box.video.start()
        _ = box.call()
        let pipe = try ViewPipe()
        let view = ViewRequest(.descriptor, descriptor: pipe.writer)
        let other = try BusConnection(.address(box.video.bus.address))
        _ = try await other.call(
            BTCallName.videoBus, BTCallPath.video, BTCallName.Interface.video, BTCallName.Video.setView,
            [.string("local"), .vardict(view.fields)])
        Glibc.close(pipe.writer.take())
        var bytes: [UInt8] = []
        try await eventually("frames have come") {
            bytes += pipe.read() ?? []
            return bytes.count > 3 * 320 * 240 * 3 / 2
        }
        #expect(String(decoding: bytes.prefix(26), as: UTF8.self) == "YUV4MPEG2 W320 H240 F30000")
        #expect(try await box.view(.local).view.sink == .descriptor)
        try await eventually("the view runs") { try await box.view(.local).isRunning }
        other.close()
        try await eventually("the view has ended") {
            pipe.read() == nil
        }
        #expect(try await box.view(.local) == ViewDescription(ViewRequest(.none)))
        pipe.close()
        await box.stop()
    }

    @Test func `a reader that closes its pipe ends the view`() async throws {
        try await box.video.start()
        _ = box.call()
        let pipe = try ViewPipe()
        try await box.ask(
            BTCallName.Video.setView,
            [.string("local"), .vardict(ViewRequest(.descriptor, descriptor: pipe.writer).fields)])
        try await eventually("the view runs") { try await box.view(.local).isRunning }
        pipe.close()
        try await eventually("the view has ended") { try await box.view(.local).view.sink == .none }
        await box.stop()
    }

    @Test func `S2.2 a view is set at run time, and an empty one is that of the configuration`() async throws {
        box.video.settings.views[.local] = ViewSettings(.fbdev, rotation: 180)
        try await box.video.start()
        #expect(try await box.view(.local) == ViewDescription(ViewRequest(.fbdev, rotation: 180)))
        #expect(try await box.view(.remote) == ViewDescription(ViewRequest(.none)))
        _ = box.call()
        try await eventually("the view runs") { try await box.view(.local).isRunning }
        try await box.ask(BTCallName.Video.setView, [.string("local"), .vardict(ViewRequest(.none).fields)])
        try await eventually("the view has ended") {
            try await box.view(.local) == ViewDescription(ViewRequest(.none))
        }
        try await box.ask(BTCallName.Video.setView, [.string("local"), .vardict([:])])
        try await eventually("the view runs again") { try await box.view(.local).isRunning }
        await box.stop()
    }

    @Test func `an empty view is refused while the other view has the node of the configuration`() async throws {
        let node = ViewRequest(.device, device: "/dev/video8")
        box.video.settings.views[.local] = ViewSettings(.device, device: "/dev/video8")
        try await box.video.start()
        let name = BTCallName.Video.setView
        try await box.ask(name, [.string("local"), .vardict(ViewRequest(.none).fields)])
        try await box.ask(name, [.string("remote"), .vardict(node.fields)])
        let error = await refusal(name, [.string("local"), .vardict([:])])
        #expect(
            error?.message
                == "the local view and the remote view are both /dev/video8: give each a node of its own",
            "\(error?.message ?? "")")
        #expect(try await box.view(.local).view == ViewRequest(.none))
        try await box.ask(name, [.string("remote"), .vardict([:])])
        try await box.ask(name, [.string("local"), .vardict([:])])
        #expect(try await box.view(.local).view == node)
        await box.stop()
    }

    @Test func `a view that its client has left shows nothing while the other view has the node`() async throws {
        let node = ViewRequest(.device, device: "/dev/video8")
        box.video.settings.views[.local] = ViewSettings(.device, device: "/dev/video8")
        try await box.video.start()
        let name = BTCallName.Video.setView
        let pipe = try ViewPipe()
        let other = try BusConnection(.address(box.video.bus.address))
        _ = try await other.call(
            BTCallName.videoBus, BTCallPath.video, BTCallName.Interface.video, name,
            [.string("local"), .vardict(ViewRequest(.descriptor, descriptor: pipe.writer).fields)])
        Glibc.close(pipe.writer.take())
        try await box.ask(name, [.string("remote"), .vardict(node.fields)])
        other.close()
        try await eventually("the view has ended") { try await box.view(.local).view == ViewRequest(.none) }
        try await box.ask(name, [.string("remote"), .vardict([:])])
        #expect(try await box.view(.local).view == node)
        pipe.close()
        await box.stop()
    }

    @Test func `a view that is none is refused, with what is accepted`() async throws {
        try await box.video.start()
        let name = BTCallName.Video.setView
        let side = await refusal(name, [.string("both"), .vardict([:])])
        #expect(side?.name == APIError(.invalidArgument, "").name && side?.message.contains("local, remote") == true)
        let sink = await refusal(name, [.string("local"), .vardict(["sink": "x11"])])
        #expect(sink?.name == APIError(.invalidArgument, "").name)
        let rotation = await refusal(name, [.string("local"), .vardict(["sink": "kms", "rotation": .uint32(45)])])
        #expect(rotation?.message == "rotation is 45; accepted: 0, 90, 180 or 270", "\(rotation?.message ?? "")")
        let node = await refusal(
            name, [.string("local"), .vardict(ViewRequest(.device, device: "/dev/video-btcall").fields)])
        #expect(
            node?.message
                == "[output] device and the local view are both /dev/video-btcall: give each a node of its own",
            "\(node?.message ?? "")")
        let null = PassedDescriptor(taking: open("/dev/null", O_WRONLY | O_CLOEXEC))
        let descriptor = await refusal(
            name, [.string("local"), .vardict(ViewRequest(.descriptor, descriptor: null).fields)])
        #expect(
            descriptor?.message.hasSuffix("accepted: a pipe, a stream socket or a regular file, open for writing")
                == true,
            "\(descriptor?.message ?? "")")
        #expect(try await box.view(.local) == ViewDescription(ViewRequest(.none)))
        await box.stop()
    }

    @Test func `a view with an unknown entry or a value of another type is refused, and the one before stays`()
        async throws
    {
        try await box.video.start()
        let name = BTCallName.Video.setView
        let view = ViewRequest(.device, device: "/dev/video8", rotation: 180)
        try await box.ask(name, [.string("local"), .vardict(view.fields)])
        let unknown = await refusal(name, [.string("local"), .vardict(["sink": "none", "rotations": .uint32(90)])])
        #expect(
            unknown?.message
                == "unknown in the view of SetView: \"rotations\" (did you mean 'rotation'?); accepted: sink, device, "
                + "rectangle, rotation, descriptor", "\(unknown?.message ?? "")")
        // Not that of the configuration either.
        #expect(await refusal(name, [.string("local"), .vardict(["nonsense": true])]) != nil)
        for entry in DictionaryArgument.setView.entries {
            let wrong: Value = entry.accepts("text") ? .uint32(1) : "text"
            let fields = ["sink": "none"].merging([entry.name: wrong]) { $1 }
            let error = await refusal(name, [.string("local"), .vardict(fields)])
            #expect(error?.name == APIError(.invalidArgument, "").name, "\(entry.name)")
            let type = "has to be of type \(entry.typeName), not \(wrong.typeSignature)"
            #expect(error?.message == "\(entry.name) in the view of SetView \(type)")
        }
        #expect(try await box.view(.local).view == view)
        await box.stop()
    }

    // MARK: Backgrounds

    @Test func `a background that is none is refused, and the one before stays`() async throws {
        try await box.video.start()
        let name = BTCallName.Video.setBackground
        let word = await refusal(name, [.string("green")])
        #expect(word?.message == "background is \"green\"; accepted: \(BackgroundChoice.accepted)")
        let missing = await refusal(name, [.string("/no/such/picture.png")])
        #expect(missing?.message.contains("/no/such/picture.png") == true, "\(missing?.message ?? "")")
        #expect(try await box.property(BTCallName.Video.background) == "off")
        await box.stop()
    }

    @Test(.enabled(if: PictureServiceTests.hasSegmentation, "gstreamer1.0-opencv is not installed"))
    func `S2.3 a background is applied in a call, and kept over a restart`() async throws {
        try await box.video.start()
        try await box.ask(BTCallName.Video.setBackground, [.string("blur")])
        try await box.video.start()
        #expect(try await box.property(BTCallName.Video.background) == "blur")
        _ = box.call()
        try await box.eventually("the background is applied") { $0.local == .camera && $0.isBackgrounded }
        try await box.ask(BTCallName.Video.setBackground, [.string("off")])
        try await box.eventually("the room is seen") { $0.local == .camera && !$0.isBackgrounded }
        await box.stop()
    }

    nonisolated static var hasSegmentation: Bool {
        // Whatever the reason is: there is no background then.
        (try? GStreamer.check(PipelinePlan.backgroundNeeds)) != nil
    }

    // MARK: Others

    @Test func `the output device is written in a call, and its failure is shown`() async throws {
        try await box.video.start()
        func output() async throws -> OutputDescription? {
            try OutputDescription(
                try Fields(try await box.property(BTCallName.Video.outputDevice), of: "OutputDevice"))
        }
        #expect(try await output() == OutputDescription(path: "/dev/video-btcall"))
        let call = box.call()
        try await eventually("it is written") { try await output()?.isRunning == true }
        box.daemon.end(call, reason: "remote")
        try await eventually("it is not written") { try await output()?.isRunning == false }
        box.video.parts.openOutput = OutputDevice.open
        try await box.video.start()
        #expect(
            try await output()?.problem == "/dev/video-btcall: VIDIOC_S_FMT: No such file or directory (ENOENT)")
        await box.stop()
    }

    @Test func `a tap without a call opens the camera, and closes it at its end`() async throws {
        try await box.video.start()
        let reply = try await box.ask(BTCallName.Video.openTap, [.objectPath("/"), .string("local")])
        let tap = try #require(reply.first?.uint32Value)
        try await box.eventually("the camera is seen") { $0.local == .camera && $0.call == nil }
        try await box.ask(BTCallName.Video.closeTap, [.uint32(tap)])
        try await box.eventually("there is no picture") { $0 == PictureDescription() }
        try await eventually("the camera is closed") { box.pictures?.local.devices == [] }
        await box.stop()
    }

    @Test func `S2.3 an offered remote picture is shown in its call`() async throws {
        box.video.settings.views = [.local: ViewSettings(.kms), .remote: ViewSettings(.kms)]
        try await box.video.start()
        let call = box.call()
        try await box.eventually("the camera is seen") { $0.local == .camera && !$0.isRemote }
        let size: [Value] = [.uint32(640), .uint32(480), .uint32(30)]
        let reply = try await box.ask(BTCallName.Video.offerRemote, [.objectPath(call)] + size)
        let offer = try #require(reply.first?.uint32Value)
        try await box.eventually("the remote picture arrives") { $0.isRemote }
        try await eventually("both views run") {
            let (local, remote) = (try await box.view(.local), try await box.view(.remote))
            return local.isRunning && remote.isRunning
        }
        let second = await refusal(BTCallName.Video.offerRemote, [.objectPath(call)] + size)
        #expect(second?.name == APIError(.wrongState, "").name)
        try await box.ask(BTCallName.Video.withdrawRemote, [.uint32(offer)])
        try await box.eventually("the remote picture has ended") { !$0.isRemote }
        try await eventually("its view has ended") { try await !box.view(.remote).isRunning }
        await box.stop()
    }

    @Test func `the remote source is read while somebody watches it`() async throws {
        box.video.settings.remoteSource = "/dev/video9"
        box.video.settings.views[.remote] = ViewSettings(.kms)
        box.video.parts.remoteSource = { _ in
            PipelinePlan(
                "videotestsrc is-live=true ! video/x-raw,format=I420,width=176,height=144,framerate=15/1 ! appsink "
                    + "name=out sync=false max-buffers=1 drop=true")
        }
        try await box.video.start()
        let call = box.call()
        try await box.eventually("the remote picture arrives") { $0.isRemote }
        try await eventually("its view runs") { try await box.view(.remote).isRunning }
        box.daemon.end(call, reason: "remote")
        try await box.eventually("there is no picture") { $0 == PictureDescription() }
        await box.stop()
    }
}
