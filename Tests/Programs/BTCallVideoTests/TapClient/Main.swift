import BTCall
import Glibc

/// A program that opens, reads and closes pictures, and gives some, until it is killed: `TapClient BUS CALL`.
@main
enum TapClient {
    static func main() async throws {
        let words = CommandLine.arguments
        let bridge = try await CallBridge(bus: .address(words[1]))
        let call = Call.ID(path: words[2])
        print("ready")
        // The pipe of the test.
        fflush(nil)
        while true {
            do throws(BridgeError) {
                try await round(bridge.video, call)
            } catch {
                // What the client before has left is about to end.
                guard [.wrongState, .unavailable, .limitExceeded].contains(error.code) else { throw error }
                await Task.yield()
            }
        }
    }

    private static func round(_ video: BridgeVideo, _ call: Call.ID) async throws(BridgeError) {
        let camera = try await video.localBufferView()
        let local = try await video.localBufferView(call: call)
        await read(camera, 2)
        await read(local, 3)
        await video.removeLocalBufferView(camera)
        let writer = try await video.offerRemote(call: call, width: 64, height: 48, framesPerSecond: 120)
        let frame = [UInt8](repeating: 5, count: writer.frameBytes)
        for _ in 0..<3 { try writer.write(frame) }
        let remote = try await video.remoteBufferView(call: call)
        for _ in 0..<3 { try writer.write(frame) }
        await read(remote, 1)
        // The last references to `local` and to `remote` end them.
        await writer.close()
    }

    private static func read(_ view: BufferView, _ count: Int) async {
        var left = count
        for await frame in view.frames() {
            precondition(frame.bytes.allSatisfy { $0 == frame.bytes[0] })
            left -= 1
            if left == 0 { return }
        }
    }
}
