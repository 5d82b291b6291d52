import BTCall
import BTCallAPI
import BluetoothTypes
import CBTCall
import ControlLoop
import DBus
import FrameRings
import Glibc
import TestSupport
import Testing
import VideoPlan

@testable import btcall_video

/// Remote pictures that applications give, also hostile ones.
@Suite(.timeLimit(.minutes(1)), .serialized) @ControlPlane struct OfferTests {
    let box: TapBox

    init() async throws { box = try await TapBox() }

    private var sink: RemoteSink {
        get throws { try #require(box.pictures.sinks[FakePictures.call]) }
    }

    private func offer() async throws -> RemotePictureWriter {
        try await box.video.offerRemote(call: TapBox.call, width: 64, height: 48, framesPerSecond: 100)
    }

    @Test func `S2.3 an application's frames become the remote picture, and a remote buffer view sees them`()
        async throws
    {
        let writer = try await offer()
        #expect(writer.width == 64 && writer.height == 48 && writer.frameBytes == 64 * 48 * 3 / 2)
        #expect(try await box.taps() == 1)
        let view = try await box.video.remoteBufferView(call: TapBox.call)
        try writer.write([UInt8](repeating: 6, count: writer.frameBytes))
        var frames = view.frames().makeAsyncIterator()
        #expect(await frames.next()?.bytes.first == 6)
        #expect(try sink.frames.last == [UInt8](repeating: 6, count: writer.frameBytes))
        await box.video.removeBufferView(view)
        await writer.close()
        #expect(try sink.isEnded)
        #expect(box.table.count == 0 && box.pictures.hub.count == 0)
        await box.stop()
    }

    @Test func `the end of an offer ends the views of its picture`() async throws {
        var writer: RemotePictureWriter? = try await offer()
        let view = try await box.video.remoteBufferView(call: TapBox.call)
        #expect(writer != nil)
        writer = nil
        for await _ in view.frames() {}
        try await eventually("all is released") { box.table.count == 0 && box.pictures.hub.count == 0 }
        await box.stop()
    }

    @Test(arguments: [(15, 48, 30), (64, 4098, 30), (65, 48, 30), (64, 48, 0), (64, 48, 121), (4096, 4096, 30)])
    func `a picture that is not accepted is refused, with what is`(width: Int, height: Int, rate: Int) async throws {
        let error = await TapBox.refusal { () async throws(BridgeError) in
            _ = try await box.video.offerRemote(
                call: TapBox.call, width: width, height: height, framesPerSecond: rate)
        }
        #expect(error?.code == .invalidArgument && error?.message.contains("accepted: ") == true)
        #expect(box.table.count == 0 && box.pictures.sinks.isEmpty)
        await box.stop()
    }

    @Test func `a call has one remote picture, and an unknown call has none`() async throws {
        let writer = try await offer()
        let second = await TapBox.refusal { () async throws(BridgeError) in
            _ = try await box.video.offerRemote(call: TapBox.call, width: 64, height: 48, framesPerSecond: 30)
        }
        #expect(second?.code == .wrongState)
        let unknown = await TapBox.refusal { () async throws(BridgeError) in
            _ = try await box.video.offerRemote(
                call: Call.ID(path: "/org/btcall/calls/none"), width: 64, height: 48, framesPerSecond: 30)
        }
        #expect(unknown?.code == .noSuchCall)
        #expect(box.table.count == 1)
        await writer.close()
        await box.stop()
    }

    @Test func `a frame of another size is refused, and after the call's end every frame`() async throws {
        let writer = try await offer()
        let small = await TapBox.refusal { () async throws(BridgeError) in try writer.write([1, 2, 3]) }
        #expect(small?.message == "a frame of 3 bytes; accepted: 4608 bytes, I420 of 64x48 without padding")
        box.pictures.end(FakePictures.call)
        #expect(box.table.count == 0)
        let late = await TapBox.refusal { () async throws(BridgeError) in
            try writer.write([UInt8](repeating: 0, count: writer.frameBytes))
        }
        #expect(late?.code == .wrongState)
        await box.stop()
    }

    @Test func `the time of a frame is its writer's if that can be true`() async throws {
        let writer = try await offer()
        let frame = [UInt8](repeating: 0, count: writer.frameBytes)
        let begin = UInt64(ControlLoop.now.nanoseconds)
        let plausible = begin - 1_000_000
        for (number, time) in [plausible, 0, .max, begin + 60_000_000_000].enumerated() {
            try writer.write(frame, at: time)
            try await eventually("it is taken") { try sink.frames.count == number + 1 }
            let taken = try sink.frames.nanoseconds
            let isNow = taken >= begin && taken <= UInt64(ControlLoop.now.nanoseconds)
            #expect(number == 0 ? taken == plausible : isNow)
        }
        await box.stop()
    }

    // MARK: Writers that are not to be trusted

    @Test func `a writer that floods is read at twice its rate at most, and its end is seen meanwhile`() async throws {
        let client = try PlainClient(box)
        // One frame a second.
        let ring = try await client.offer(FakePictures.call, 64, 48, 1)
        var writer = try FrameRingWriter(descriptor: ring.memory.descriptor)
        let frame = [UInt8](repeating: 3, count: writer.layout.frameBytes)
        let begin = ControlLoop.now
        var isWritten = true
        for _ in 0..<500 {
            isWritten = frame.withUnsafeBytes { writer.write($0, at: 0) } && isWritten
            FrameWakeUp.send(to: ring.wakeUp.descriptor)
            await ControlLoop.shared.sleep(for: .microseconds(100))
        }
        #expect(isWritten)
        let count = try sink.frames.count
        #expect(count >= 1 && count <= 1 + Int(begin.duration(to: ControlLoop.now) / .milliseconds(500)))
        close(ring.wakeUp.take())
        try await eventually("it is released") { box.table.count == 0 }
        client.bus.close()
        await box.stop()
    }

    @Test func `a writer that sends descriptors, an empty message or its end is released`() async throws {
        let client = try PlainClient(box)
        let first = try await client.offer(FakePictures.call)
        sendDescriptor(first.wakeUp.descriptor)
        try await eventually("it is released") { box.table.count == 0 }
        #expect(box.log.containing("it sent descriptors to the wake-up; accepted: bytes").count == 1)
        let second = try await client.offer(FakePictures.call)
        #expect(send(second.wakeUp.descriptor, "", 0, Int32(MSG_NOSIGNAL)) == 0)
        try await eventually("it is released") { box.table.count == 0 }
        let third = try await client.offer(FakePictures.call)
        var writer = try FrameRingWriter(descriptor: third.memory.descriptor)
        writer.end()
        FrameWakeUp.send(to: third.wakeUp.descriptor)
        try await eventually("it is released") { box.table.count == 0 }
        client.bus.close()
        await box.stop()
    }

    private func sendDescriptor(_ socket: Int32) {
        var (byte, count): (UInt8, Int32) = (1, 0)
        _ = btcall_send_descriptors(socket, &byte, 1, &count, 1, Int32(MSG_NOSIGNAL))
    }

    @Test func `a writer that scribbles over its whole ring changes nothing but its picture`() async throws {
        let client = try PlainClient(box)
        let ring = try await client.offer(FakePictures.call, 64, 48, 120)
        let layout = try FrameLayout(width: 64, height: 48, framesPerSecond: 120)
        let view = try await box.video.localBufferView(call: TapBox.call)
        var generator = SeededGenerator(seed: 36)
        var junk = [UInt8](repeating: 0, count: 4096)
        for round in 0..<300 {
            for index in junk.indices { junk[index] = UInt8(truncatingIfNeeded: generator.next()) }
            let place = round % 2 == 0 ? 0 : generator.below(layout.memoryBytes / 64) * 64
            pwrite(ring.memory.descriptor, junk, min(junk.count, layout.memoryBytes - place), off_t(place))
            // Any count of frames, and no word of an end.
            var (count, isEnded) = (generator.next() >> UInt64(generator.below(64)), UInt32(0))
            pwrite(ring.memory.descriptor, &count, 8, 128)
            pwrite(ring.memory.descriptor, &isEnded, 4, 136)
            FrameWakeUp.send(to: ring.wakeUp.descriptor)
            if round % 10 == 0 { await ControlLoop.shared.sleep(for: .milliseconds(5)) }
        }
        box.pictures.hub.give(try box.frame(4), to: TapBox.local)
        #expect(try view.latest()?.bytes == box.frame(4))
        #expect(box.table.count == 2)
        client.bus.close()
        await view.close()
        try await eventually("all is released") { box.table.count == 0 }
        #expect(try sink.isEnded)
        await box.stop()
    }
}
