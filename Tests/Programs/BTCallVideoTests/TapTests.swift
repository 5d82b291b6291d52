import BTCall
import BTCallAPI
import ControlLoop
import DBus
import FrameRings
import Glibc
import TestSupport
import Testing
import VideoPlan

@testable import btcall_video

/// Frames of pictures for programs, as these see them over a bus.
@Suite(.timeLimit(.minutes(1)), .serialized) @ControlPlane struct TapTests {
    let box: TapBox

    init() async throws { box = try await TapBox() }

    // MARK: Views

    @Test func `S2.3 a local buffer view gets the frames of its call, and is removed`() async throws {
        let view = try await box.video.localBufferView(call: TapBox.call)
        #expect(view.width == 64 && view.height == 48 && view.framesPerSecond == 30)
        #expect(view.latest() == nil)
        #expect(try await box.taps() == 1)
        box.pictures.hub.give(try box.frame(7), to: TapBox.local, at: 5)
        box.pictures.hub.give(try box.frame(9), to: TapBox.camera)
        let frame = try #require(view.latest())
        #expect(try frame.bytes == box.frame(7))
        #expect(frame.number == 1 && frame.nanoseconds == 5 && !frame.isCard)
        box.pictures.hub.give(try box.frame(8), to: TapBox.local, isCard: true)
        #expect(view.latest()?.isCard == true)
        await box.video.removeLocalBufferView(view)
        #expect(try await box.taps() == 0)
        #expect(box.pictures.hub.count == 0 && view.latest() == nil)
        await view.close()
        await box.stop()
    }

    @Test func `S2.3 the camera can be seen without a call`() async throws {
        let view = try await box.video.localBufferView()
        box.pictures.hub.give(try box.frame(3), to: TapBox.camera)
        #expect(view.latest()?.bytes.first == 3)
        await box.stop()
    }

    @Test func `S2.3 the frames of a view come as they are written, newest first for a slow reader`() async throws {
        let view = try await box.video.localBufferView(call: TapBox.call)
        var frames = view.frames().makeAsyncIterator()
        let task = Task { @ControlPlane in
            for value in 1...3 as ClosedRange<UInt8> {
                await ControlLoop.shared.sleep(for: .milliseconds(2))
                box.pictures.hub.give(try box.frame(value), to: TapBox.local)
            }
        }
        let first = await frames.next()
        #expect(first != nil)
        try await task.value
        for value in 4...50 as ClosedRange<UInt8> { box.pictures.hub.give(try box.frame(value), to: TapBox.local) }
        let newest = await frames.next()
        #expect(newest?.number == 50 && newest?.bytes.first == 50)
        // A second sequence begins with the newest frame.
        var others = view.frames().makeAsyncIterator()
        #expect(await others.next()?.number == 50)
        await box.stop()
    }

    @Test func `a sequence of frames ends when its task is cancelled, and when the view is closed`() async throws {
        let view = try await box.video.localBufferView(call: TapBox.call)
        let first = Task { @ControlPlane in
            for await _ in view.frames() {}
        }
        let second = Task { @ControlPlane in
            for await _ in view.frames() {}
        }
        await ControlLoop.shared.sleep(for: .milliseconds(5))
        first.cancel()
        await first.value
        #expect(try await box.taps() == 1)
        await view.close()
        await second.value
        await box.stop()
    }

    @Test func `S2.3 the end of the call ends its views, with the last frame before`() async throws {
        let view = try await box.video.localBufferView(call: TapBox.call)
        let other = try await box.video.localBufferView(call: TapBox.otherCall)
        box.pictures.hub.give(try box.frame(1), to: TapBox.local)
        box.pictures.end(FakePictures.call)
        var numbers: [UInt64] = []
        for await frame in view.frames() { numbers.append(frame.number) }
        #expect(numbers == [1])
        #expect(try await box.taps() == 1)
        let late = await TapBox.refusal { () async throws(BridgeError) in
            _ = try await box.video.localBufferView(call: TapBox.call)
        }
        #expect(late?.code == .noSuchCall)
        await view.close()
        await other.close()
        await box.stop()
    }

    @Test func `a picture that ends alone, or between question and answer, ends its taps`() async throws {
        let view = try await box.video.localBufferView()
        box.pictures.endPicture(TapBox.camera)
        for await _ in view.frames() {}
        try await eventually("it is released") { box.table.count == 0 }
        await box.stop()
    }

    @Test func `S2.3 a view is released with its last reference`() async throws {
        var view: BufferView? = try await box.video.localBufferView(call: TapBox.call)
        #expect(box.table.count == 1 && view != nil)
        view = nil
        try await eventually("it is released") { box.table.count == 0 }
        #expect(box.pictures.hub.count == 0)
        #expect(box.log.containing("no longer reads the local picture of call 00000000-0000-4000").count == 1)
        await box.stop()
    }

    @Test func `a client that leaves the bus has closed its taps, though it keeps the descriptors`() async throws {
        let client = try PlainClient(box)
        let ring = try await client.openTap(FakePictures.call)
        client.bus.close()
        try await eventually("it is released") { box.table.count == 0 }
        var byte: UInt8 = 0
        #expect(read(ring.wakeUp.descriptor, &byte, 1) == 0)
        let reader = try FrameRingReader(descriptor: ring.memory.descriptor)
        #expect(reader.isEnded)
        await box.stop()
    }

    @Test func `a client that leaves while its picture is looked up leaves nothing`() async throws {
        box.pictures.delay = .milliseconds(20)
        let client = try PlainClient(box)
        let tap = Task { @ControlPlane in try await client.openTap(FakePictures.call) }
        let offer = Task { @ControlPlane in try await client.offer(FakePictures.call) }
        await ControlLoop.shared.sleep(for: .milliseconds(5))
        client.bus.close()
        _ = await tap.result
        _ = await offer.result
        await ControlLoop.shared.sleep(for: .milliseconds(40))
        try await eventually("nothing is left") { box.table.count == 0 && box.pictures.hub.count == 0 }
        let areEnded = box.pictures.sinks.values.allSatisfy(\.isEnded)
        #expect(areEnded)
        await box.stop()
    }

    @Test func `a stopped btcall-video ends all views and offers`() async throws {
        let view = try await box.video.localBufferView(call: TapBox.call)
        let writer = try await box.video.offerRemote(call: TapBox.call, width: 64, height: 48, framesPerSecond: 30)
        box.table.stop()
        for await _ in view.frames() {}
        let frame = [UInt8](repeating: 0, count: writer.frameBytes)
        let error = await TapBox.refusal { () async throws(BridgeError) in try writer.write(frame) }
        #expect(error?.code == .wrongState)
        await box.stop()
    }

    // MARK: Refusals

    @Test(arguments: [
        ("/", "remote", "InvalidArgument", "call is / and side is remote; accepted for /: local"),
        (FakePictures.call, "both", "InvalidArgument", "side is \"both\"; accepted: local, remote"),
        (FakePictures.call, "remote", "Unavailable", "nobody gives the picture of the far end yet"),
        ("/org/btcall/calls/none", "local", "NoSuchCall", "there is no such call"),
        ("/" + String(repeating: "a", count: 300), "local", "InvalidArgument", "call is 301 bytes long"),
    ])
    func `a tap that is none is refused, with what is accepted`(
        call: String, side: String, name: String, message: String
    ) async throws {
        let client = try PlainClient(box)
        let error = await TapBox.busRefusal { () async throws(BusError) in
            _ = try await client.call("OpenTap", [.objectPath(call), .string(side)])
        }
        #expect(
            error?.name == "org.btcall.Error.\(name)" && error?.message.hasPrefix(message) == true,
            "\(error?.message ?? "")")
        #expect(box.table.count == 0)
        client.bus.close()
        await box.stop()
    }

    @Test func `S2.3 a client has 8 taps and offers at most, and all together have 32`() async throws {
        var clients: [PlainClient] = []
        var rings: [PlainClient.Ring] = []
        for _ in 0..<4 {
            let client = try PlainClient(box)
            clients.append(client)
            for _ in 0..<8 { rings.append(try await client.openTap("/")) }
            let error = await TapBox.busRefusal { () async throws(BusError) in
                _ = try await client.call(
                    "OfferRemote", [.objectPath(FakePictures.call), .uint32(64), .uint32(48), .uint32(30)])
            }
            #expect(error?.name == "org.btcall.Error.LimitExceeded")
            #expect(error?.message.contains("the most for one program") == true)
        }
        #expect(try await box.taps() == 32)
        let late = await TapBox.refusal { () async throws(BridgeError) in _ = try await box.video.localBufferView() }
        #expect(late?.code == .limitExceeded && late?.message.contains("the most in all") == true)
        // The first has room again after one was closed, and another one's taps are not its own.
        let own = rings[3].number
        let foreign = await TapBox.busRefusal { () async throws(BusError) in
            _ = try await clients[1].call("CloseTap", [.uint32(own)])
        }
        #expect(foreign?.name == "org.btcall.Error.InvalidArgument")
        #expect(foreign?.message == "you have no tap \(own); accepted: 9, 10, 11, 12, 13, 14, 15, 16")
        _ = try await clients[0].call("CloseTap", [.uint32(own)])
        _ = try await clients[0].openTap("/")
        for client in clients { client.bus.close() }
        try await eventually("all are released") { box.table.count == 0 && box.pictures.hub.count == 0 }
        await box.stop()
    }

    @Test func `limits hold for requests that wait for their pictures`() async throws {
        box.pictures.delay = .milliseconds(5)
        let client = try PlainClient(box)
        let tasks = (0..<20).map { _ in Task { @ControlPlane in try await client.openTap("/") } }
        var opened: [PlainClient.Ring] = []
        for task in tasks {
            if case .success(let ring) = await task.result { opened.append(ring) }
        }
        #expect(opened.count == 8 && box.table.count == 8)
        client.bus.close()
        await box.stop()
    }

    @Test func `a tap's number closes no offer`() async throws {
        let client = try PlainClient(box)
        let (tap, offer) = (try await client.openTap("/"), try await client.offer(FakePictures.call))
        for (member, number) in [("CloseTap", offer.number), ("WithdrawRemote", tap.number), ("CloseTap", 0)] {
            let error = await TapBox.busRefusal { () async throws(BusError) in
                _ = try await client.call(member, [.uint32(number)])
            }
            #expect(error?.name == "org.btcall.Error.InvalidArgument")
        }
        #expect(box.table.count == 2)
        client.bus.close()
        await box.stop()
    }

    // MARK: Readers

    @Test func `a reader that sleeps holds up neither the picture nor other readers`() async throws {
        let client = try PlainClient(box)
        let ring = try await client.openTap(FakePictures.call)
        let view = try await box.video.localBufferView(call: TapBox.call)
        for round in 0..<2_000 {
            box.pictures.hub.give(try box.frame(UInt8(truncatingIfNeeded: round)), to: TapBox.local)
        }
        #expect(view.latest()?.number == 2_000)
        let reader = try FrameRingReader(descriptor: ring.memory.descriptor)
        #expect(reader.latest()?.head.number == 2_000 && box.table.count == 2)
        client.bus.close()
        await box.stop()
    }

    @Test func `a reader gets memory that it can only read`() async throws {
        let client = try PlainClient(box)
        let ring = try await client.openTap(FakePictures.call)
        #expect(fcntl(ring.memory.descriptor, F_GETFL) & O_ACCMODE == O_RDONLY)
        #expect(mmap(nil, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, ring.memory.descriptor, 0) == MAP_FAILED)
        client.bus.close()
        await box.stop()
    }
}
