import BTCall
import BTCallAPI
import Cameras
import CommandTestSupport
import ControlLoop
import DBus
import Foundation
import Glibc
import TestSupport
import Testing
import VideoCapture
import VideoPlan

@testable import btcall_video

/// btcall-video as its clients see it, over a bus.
@Suite(.timeLimit(.minutes(1))) @ControlPlane struct VideoServiceTests {
    let box: VideoBox

    init() async throws { box = try await VideoBox() }

    private func plugBoth() throws {
        try box.cameras.add(VideoBox.door, "YUYV 640x480@30 1280x720@10; MJPG 1280x720@30")
        try box.cameras.add(VideoBox.hall, "NV12 800x600@25")
    }

    private func refusal(_ body: () async throws(BridgeError) -> Void) async -> BridgeError? {
        do throws(BridgeError) {
            try await body()
            return nil
        } catch {
            return error
        }
    }

    @Test func `S2.4 the front camera is set by default, and what was reached is reported`() async throws {
        try plugBoth()
        let status = try await box.start().status()
        #expect(status.camera == "front" && status.preferredCaptureResolution == "auto")
        #expect(status.preferredCaptureFrameRate == 30 && status.problem == nil)
        #expect(status.cameras.map(\.id) == ["usb-1-video-index0", "usb-2-video-index0"])
        #expect(status.cameras.map(\.aliases) == [["front"], []])
        let capture = try #require(status.capture)
        #expect(capture.id == "usb-1-video-index0" && capture.camera == "front" && capture.format == "MJPG")
        #expect(capture.width == 1280 && capture.height == 720 && capture.framesPerSecond == 30)
        // Nothing is held while idle.
        #expect(box.cameras.openDrivers == 0)
        await box.stop()
    }

    @Test func `S2.4 a requested size and rate give the nearest legal ones`() async throws {
        try plugBoth()
        let video = try await box.start()
        try await video.setCapture(resolution: "800x600", framesPerSecond: 20)
        let status = try await video.status()
        #expect(status.preferredCaptureResolution == "800x600" && status.preferredCaptureFrameRate == 20)
        #expect(status.capture?.width == 640 && status.capture?.framesPerSecond == 30)
        await box.stop()
    }

    @Test(arguments: [
        ("big", 30, "resolution is \"big\"; accepted: auto, or WIDTHxHEIGHT"),
        ("auto", 0, "framesPerSecond is 0; accepted: 1 to 1000"),
        ("auto", 1001, "framesPerSecond is 1001; accepted: 1 to 1000"),
        (String(repeating: "9", count: 65), 30, "resolution is 65 bytes long"),
    ])
    func `a request that is none is refused, with what is accepted`(
        resolution: String, rate: Int, message: String
    ) async throws {
        try plugBoth()
        let video = try await box.start()
        let error = await refusal { () async throws(BridgeError) in
            try await video.setCapture(resolution: resolution, framesPerSecond: rate)
        }
        #expect(error?.code == .invalidArgument && error?.message.hasPrefix(message) == true, "\(error?.message ?? "")")
        #expect(try await video.status().preferredCaptureResolution == "auto")
        await box.stop()
    }

    @Test func `S2.27 a camera is chosen at any time, and stays chosen over a restart`() async throws {
        try plugBoth()
        let video = try await box.start()
        try await video.setCamera("usb-2-video-index0")
        try await video.setCapture(resolution: "auto", framesPerSecond: 25)
        #expect(try await video.status().capture?.width == 800)
        let again = try await box.start().status()
        #expect(again.camera == "usb-2-video-index0" && again.capture?.id == "usb-2-video-index0")
        #expect(again.preferredCaptureFrameRate == 25)
        try await video.reset()
        #expect(try await video.status().camera == "front")
        #expect(try await box.start().status().preferredCaptureFrameRate == 30)
        await box.stop()
    }

    @Test func `S2.27 an unknown camera is refused with the list`() async throws {
        try plugBoth()
        box.settings.names.front = "usb-2-video-index0"
        let video = try await box.start()
        let error = await refusal { () async throws(BridgeError) in try await video.setCamera("side") }
        #expect(error?.code == .invalidArgument)
        #expect(
            error?.message
                == "there is no camera \"side\"; accepted: front, usb-1-video-index0, usb-2-video-index0")
        let back = await refusal { () async throws(BridgeError) in try await video.setCamera("back") }
        #expect(back?.message.contains("[camera back] device is not configured") == true)
        #expect(try await video.status().camera == "front")
        box.settings.names.back = "usb-1-video-index0"
        try await box.start().setCamera("back")
        #expect(try await video.status().capture?.id == "usb-1-video-index0")
        await box.stop()
    }

    @Test func `a node that carries a picture is no camera`() async throws {
        let link = FileManager.default.temporaryDirectory.appending(path: "btcall-node-\(UUID().uuidString)")
        defer { try? FileManager.default.removeItem(at: link) }  // It may stay in the temporary directory.
        try FileManager.default.createSymbolicLink(atPath: link.path(), withDestinationPath: "/dev/null")
        box.settings.outputDevice = link.path()
        box.settings.remoteSource = "/dev/video9"
        box.settings.views[.local] = ViewSettings(.device, device: "/dev/video8")
        for (number, path) in ["/dev/null", "/dev/video9", "/dev/video8", "/dev/video7"].enumerated() {
            try box.cameras.add(Camera(id: "usb-\(number)-video-index0", path: path, name: "Node"), "YUYV 640x480@30")
        }
        let status = try await box.start().status()
        #expect(status.cameras.map(\.path) == ["/dev/video7"] && status.capture?.id == "usb-3-video-index0")
        await box.stop()
    }

    @Test func `S2.27 a camera that is pulled and comes back is set again`() async throws {
        try plugBoth()
        box.settings.names.front = "usb-1-video-index0"
        let video = try await box.start()
        box.cameras.remove("usb-1-video-index0")
        let without = try await video.status()
        #expect(without.capture == nil && without.cameras.count == 1)
        #expect(without.problem == "there is no camera front at present: there are usb-2-video-index0")
        let returned = Camera(id: VideoBox.door.id, path: "/dev/video3", name: "Door", node: 9)
        try box.cameras.add(returned, "YUYV 640x480@30")
        let with = try await video.status()
        #expect(with.capture?.width == 640 && with.problem == nil)
        await box.stop()
    }

    @Test func `a camera that is exchanged between two looks is set again, and another one's arrival sets nothing`()
        async throws
    {
        try box.cameras.add(VideoBox.door, "YUYV 640x480@30")
        box.settings.names.front = VideoBox.door.id
        try await box.start()
        #expect(box.cameras.settings.count == 1)
        try box.cameras.add(VideoBox.hall, "NV12 800x600@25")
        #expect(box.cameras.settings.count == 1)
        let change = box.cameras.onChange
        box.cameras.onChange = nil
        box.cameras.remove(VideoBox.door.id)
        try box.cameras.add(
            Camera(id: VideoBox.door.id, path: "/dev/video0", name: "Door", node: 7), "YUYV 640x480@30")
        change?()
        #expect(box.cameras.settings.count == 2)
        await box.stop()
    }

    @Test func `S2.11 changed camera settings are a signal and a property`() async throws {
        try plugBoth()
        let video = try await box.start()
        let client = try BusConnection(.address(box.bus.address))
        var signals: [[String: Value]] = []
        client.subscribe(
            sender: BTCallName.videoBus, path: BTCallPath.video, interface: BTCallName.Interface.video,
            member: BTCallName.Video.cameraSettingsChanged
        ) { signals.append($0.arguments.first?.vardictValue ?? [:]) }
        // Once this call has returned, the bus knows the subscription.
        _ = try await client.owner(of: BTCallName.videoBus)
        try await video.setCamera("usb-2-video-index0")
        try await eventually("the signal has come") { signals.count == 1 }
        #expect(signals.first?["camera"] == "usb-2-video-index0" && signals.first?["width"] == .uint32(800))
        #expect(signals.first?["framesPerSecond"] == .double(25) && signals.first?["format"] == "NV12")
        try await video.setCamera("usb-2-video-index0")
        box.cameras.remove("usb-2-video-index0")
        try await eventually("the end has come") { signals.count == 2 }
        #expect(signals.last == [:])
        client.close()
        await box.stop()
    }

    @Test func `S2.11 the library follows the settings, also while btcall-video is away`() async throws {
        try plugBoth()
        var captures = await box.bridge.video.captures().makeAsyncIterator()
        let absent = await captures.next()
        #expect(absent == .some(nil))
        let video = try await box.start()
        let front = await captures.next()
        #expect(front??.id == "usb-1-video-index0")
        try await video.setCamera("usb-2-video-index0")
        let hall = await captures.next()
        #expect(hall??.width == 800)
        box.cameras.remove("usb-2-video-index0")
        let pulled = await captures.next()
        #expect(pulled == .some(nil))
        try box.cameras.add(VideoBox.hall, "NV12 640x480@25")
        let returned = await captures.next()
        #expect(returned??.width == 640)
        await box.running?.stop()
        let gone = await captures.next()
        #expect(gone == .some(nil))
        await box.stop()
    }

    @Test func `S2.5 without a camera the verdict is noDevice, and the microphone has its own`() async throws {
        let daemon = try await FakeDaemon(box.bus.address)
        daemon.update { state in
            state.devices = [
                DeviceDescription(
                    device: .earpiece, name: "Handset", isAvailable: true, output: "earpiece", input: "builtinMic")
            ]
        }
        let video = try await box.start()
        let access = try await video.requestMicrophoneAndCameraPermission(microphone: true, camera: true)
        #expect(access.microphone == .allowed)
        guard case .denied(.noDevice, let reason) = access.camera else {
            Issue.record("\(access)")
            return
        }
        #expect(reason == "there is no camera front at present: none is connected")
        let none = try await video.requestMicrophoneAndCameraPermission(microphone: false, camera: false)
        #expect(none.microphone == nil && none.camera == nil)
        daemon.audioProperties["MicrophoneAccess"] = "denied"
        let denied = try await video.requestMicrophoneAndCameraPermission(microphone: true, camera: false)
        guard case .denied(.policy, _) = denied.microphone else {
            Issue.record("\(denied)")
            return
        }
        daemon.close()
        await box.stop()
    }

    @Test func `S2.5 each reason against a camera has its verdict`() async throws {
        try plugBoth()
        let video = try await box.start()
        func verdict() async throws -> BridgeVideo.Verdict? {
            try await video.requestMicrophoneAndCameraPermission(microphone: false, camera: true).camera
        }
        #expect(try await verdict() == .allowed)
        box.cameras.programs = ["baresip"]
        #expect(try await verdict() == .denied(.inUse, reason: "camera front: in use by baresip"))
        box.cameras.programs = []
        box.cameras.openFailure = EACCES
        let right = "camera front: /dev/video0 may not be opened: add the program's user to group video"
        #expect(try await verdict() == .denied(.noPermission, reason: right))
        box.cameras.openFailure = EIO
        guard case .denied(.unavailable, _) = try await verdict() else {
            Issue.record("EIO is no reason of its own")
            return
        }
        box.cameras.openFailure = 0
        box.settings.isAllowed = false
        try await box.start()
        guard case .denied(.policy, let reason) = try await verdict() else {
            Issue.record("the policy is not followed")
            return
        }
        #expect(reason.hasPrefix("[privacy] camera = deny"))
        #expect(box.cameras.openDrivers == 0)
        await box.stop()
    }

    @Test func `a denied camera is neither set nor asked about`() async throws {
        try plugBoth()
        box.settings.isAllowed = false
        let video = try await box.start()
        try await video.setCamera("usb-2-video-index0")
        _ = try await video.requestMicrophoneAndCameraPermission(microphone: false, camera: true)
        #expect(box.cameras.opened == [])
        #expect(try await video.status().problem?.hasPrefix("[privacy] camera = deny") == true)
        await box.stop()
    }

    @Test func `without btcalld the microphone's verdict says so, and without btcall-video the library does`()
        async throws
    {
        try await box.start()
        let access = try await box.bridge.video.requestMicrophoneAndCameraPermission(microphone: true, camera: false)
        guard case .denied(.unavailable, let reason) = access.microphone else {
            Issue.record("\(access)")
            return
        }
        #expect(reason.hasPrefix("btcalld is not running on the bus at "))
        await box.running?.stop()
        let error = await refusal { () async throws(BridgeError) in _ = try await box.bridge.video.status() }
        #expect(error?.code == .notRunning)
        #expect(error?.message.hasPrefix("btcall-video is not running on the bus at ") == true)
        await box.stop()
    }

    @Test func `a choice that cannot be kept is refused, and not made`() async throws {
        try plugBoth()
        box.settings.stateDirectory = "/dev/null/video"
        let video = try await box.start()
        let error = await refusal { () async throws(BridgeError) in try await video.setCamera("usb-2-video-index0") }
        #expect(error?.message.hasPrefix("the choice cannot be kept in /dev/null/video/choice: ") == true)
        #expect(try await video.status().camera == "front")
        await box.stop()
    }

    @Test func `the object has the members of its interface file`() async throws {
        try await box.start()
        let client = try BusConnection(.address(box.bus.address))
        let reply = try await client.call(
            BTCallName.videoBus, BTCallPath.video, "org.freedesktop.DBus.Introspectable", "Introspect")
        let data = Data((reply.first?.stringValue ?? "").utf8)
        let exported = try InterfaceFile(BTCallName.Interface.video, in: data)
        let file = try InterfaceFile(BTCallName.Interface.video)
        #expect(exported.methods == file.methods && exported.signals == file.signals)
        #expect(exported.properties == file.properties && exported.writableProperties == file.writableProperties)
        client.close()
        await box.stop()
    }
}
