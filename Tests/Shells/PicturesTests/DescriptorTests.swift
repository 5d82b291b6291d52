import ControlLoop
import Foundation
import Glibc
import Pictures
import TestSupport
import Testing
import VideoCapture
import VideoPlan

/// Views in a descriptor of a client.
@Suite(.serialized, .timeLimit(.minutes(3))) @ControlPlane struct DescriptorTests {
    /// A busy machine is no frozen camera.
    private let local = LocalPictures(name: "box", stall: .seconds(20))
    private let views = ViewOutputs()
    private let folder: URL

    init() throws {
        signal(SIGPIPE, SIG_IGN)
        folder = try Studio.folder()
    }

    private func begin(_ format: PictureFormat = Studio.format, _ pattern: String = "red") async throws {
        local.begin(format)
        local.capture(Studio.camera(pattern, format), of: "1")
        local.show(.camera)
        try await eventually("the camera is seen") { local.isCameraSeen }
    }

    private func show(_ format: PictureFormat = Studio.format, rotation: Int = 0) {
        let settings = ViewSettings(.descriptor, rotation: rotation)
        views.show([PictureFlow(PlannedView(.local, settings, format), local.hub)])
    }

    private func end() async {
        views.show([])
        views.setDescriptor(nil, of: .local)
        local.end()
        await views.idle()
        await local.idle()
        try? FileManager.default.removeItem(at: folder)  // It may stay.
    }

    /// Reads from a descriptor without waiting until a condition holds.
    private func read(_ descriptor: Int32, _ what: String, until isEnough: ([UInt8]) -> Bool) async throws -> [UInt8] {
        var all: [UInt8] = []
        var part = [UInt8](repeating: 0, count: 1 << 16)
        try await eventually(what) {
            while true {
                let count = Glibc.read(descriptor, &part, part.count)
                guard count > 0 else { break }
                all += part[..<count]
            }
            return isEnough(all)
        }
        return all
    }

    private static let header = "YUV4MPEG2 W320 H240 F30000:1000 Ip A1:1 C420jpeg\n"
    private static let frameBytes = 6 + 320 * 240 * 3 / 2

    /// A pipe whose reading end does not wait.
    private func pipe() throws -> (reader: Int32, writer: Int32) {
        var ends: [Int32] = [-1, -1]
        _ = try SystemError.check("pipe") { Glibc.pipe(&ends) }
        for end in ends { _ = fcntl(end, F_SETFD, FD_CLOEXEC) }
        _ = fcntl(ends[0], F_SETFL, O_NONBLOCK)
        return (ends[0], ends[1])
    }

    @Test func `S2.2 a pipe gets YUV4MPEG2, frame by frame`() async throws {
        try await begin()
        let (reader, writer) = try pipe()
        views.setDescriptor(writer, of: .local)
        show()
        let enough = Self.header.utf8.count + 5 * Self.frameBytes
        let bytes = try await read(reader, "five frames have come") { $0.count >= enough }
        #expect(String(decoding: bytes.prefix(Self.header.utf8.count), as: UTF8.self) == Self.header)
        for frame in 0..<5 {
            let start = Self.header.utf8.count + frame * Self.frameBytes
            #expect(Array(bytes[start..<start + 6]) == Array("FRAME\n".utf8), "frame \(frame)")
            let shot = Shot(bytes: Array(bytes[start + 6..<start + Self.frameBytes]), width: 320, height: 240)
            #expect(shot.has(Studio.red, at: 0.5, 0.5) && shot.has(Studio.red, at: 0.99, 0.99))
        }
        #expect(views.status(of: .local).isRunning)
        // Its flags are the client's business: they have not changed.
        #expect(fcntl(writer, F_GETFL) & O_NONBLOCK == 0)
        await end()
        close(reader)
        close(writer)
    }

    @Test func `a socket and a file get the same`() async throws {
        try await begin()
        var ends: [Int32] = [-1, -1]
        _ = try SystemError.check("socketpair") { socketpair(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0, &ends) }
        _ = fcntl(ends[0], F_SETFL, O_NONBLOCK)
        views.setDescriptor(ends[1], of: .local)
        show()
        let enough = Self.header.utf8.count + 2 * Self.frameBytes
        let bytes = try await read(ends[0], "two frames have come") { $0.count >= enough }
        #expect(bytes.starts(with: Array(Self.header.utf8)))
        let path = folder.appending(path: "view.y4m").path()
        let file = open(path, O_CREAT | O_WRONLY | O_CLOEXEC, 0o600)
        views.setDescriptor(file, of: .local)
        show()
        try await eventually("two frames are in the file") {
            try Data(contentsOf: URL(filePath: path)).count >= enough
        }
        #expect(try Data(contentsOf: URL(filePath: path)).starts(with: Array(Self.header.utf8)))
        await end()
        for descriptor in ends + [file] { close(descriptor) }
    }

    @Test func `a pipe that nobody reads holds nobody up`() async throws {
        try await begin()
        let viewer = Viewer()
        local.hub.add(viewer)
        let (reader, writer) = try pipe()
        views.setDescriptor(writer, of: .local)
        show()
        try await eventually("the pipe is full") {
            var poll = pollfd(fd: writer, events: Int16(POLLOUT), revents: 0)
            return Glibc.poll(&poll, 1, 0) == 0
        }
        let count = viewer.seen.pictures
        try await eventually("the others get their pictures") { viewer.seen.pictures > count + 30 }
        // Read again, it goes on with whole frames.
        let enough = Self.header.utf8.count + 4 * Self.frameBytes
        let bytes = try await read(reader, "frames come again") { $0.count >= enough }
        for frame in 0..<4 {
            let start = Self.header.utf8.count + frame * Self.frameBytes
            #expect(Array(bytes[start..<start + 6]) == Array("FRAME\n".utf8), "frame \(frame)")
        }
        await end()
        close(reader)
        close(writer)
    }

    @Test func `a reader that goes ends the view, and nothing else`() async throws {
        try await begin()
        let (reader, writer) = try pipe()
        views.setDescriptor(writer, of: .local)
        show()
        _ = try await read(reader, "a frame has come") { $0.count > Self.frameBytes }
        close(reader)
        try await eventually("the view is over") { views.isOver(.local) }
        #expect(views.status(of: .local).problem == "its reader has closed the descriptor")
        #expect(local.isCameraSeen)
        await end()
        close(writer)
    }

    @Test func `a turned stream has the exchanged size`() async throws {
        try await begin()
        let (reader, writer) = try pipe()
        views.setDescriptor(writer, of: .local)
        show(rotation: 90)
        let header = "YUV4MPEG2 W240 H320 F30000:1000 Ip A1:1 C420jpeg\n"
        let bytes = try await read(reader, "a frame has come") { $0.count >= header.utf8.count + Self.frameBytes }
        #expect(bytes.starts(with: Array(header.utf8)))
        let start = header.utf8.count + 6
        let shot = Shot(bytes: Array(bytes[start..<start + 320 * 240 * 3 / 2]), width: 240, height: 320)
        #expect(shot.has(Studio.red, at: 0.5, 0.1) && shot.has(Studio.red, at: 0.5, 0.9))
        await end()
        close(reader)
        close(writer)
    }

    @Test func `a stream keeps its size when a call has another picture`() async throws {
        try await begin()
        let (reader, writer) = try pipe()
        views.setDescriptor(writer, of: .local)
        show()
        _ = try await read(reader, "a frame has come") { $0.count > Self.frameBytes }
        views.show([])
        let larger = PictureFormat(exactWidth: 640, height: 360, rateThousandths: 25_000)
        try await begin(larger, "blue")
        show(larger)
        // Whole frames in the old size; the new picture is wider, so that there is a border above it.
        var rest: [UInt8] = []
        try await eventually("a picture of the second call has come") {
            rest += try await read(reader, "bytes have come") { !$0.isEmpty }
            guard let last = lastFrame(rest) else { return false }
            return last.has(Studio.blue, at: 0.5, 0.5) && last.has(Studio.black, at: 0.5, 0.02)
        }
        await end()
        close(reader)
        close(writer)
    }

    /// The last whole frame of 320x240 in bytes that begin anywhere.
    private func lastFrame(_ bytes: [UInt8]) -> Shot? {
        let mark = Array("FRAME\n".utf8)
        guard bytes.count > 2 * Self.frameBytes else { return nil }
        for start in stride(from: bytes.count - Self.frameBytes, to: 0, by: -1)
        where bytes[start] == mark[0] && Array(bytes[start..<start + 6]) == mark {
            return Shot(bytes: Array(bytes[start + 6..<start + Self.frameBytes]), width: 320, height: 240)
        }
        return nil
    }

    @Test func `a descriptor of another kind, or for reading, is refused`() throws {
        let null = open("/dev/null", O_WRONLY | O_CLOEXEC)
        #expect(throws: SystemError(call: "write", code: EINVAL)) { try ViewOutputs.check(null) }
        let (reader, writer) = try pipe()
        #expect(throws: SystemError(call: "write", code: EBADF)) { try ViewOutputs.check(reader) }
        try ViewOutputs.check(writer)
        var ends: [Int32] = [-1, -1]
        _ = try SystemError.check("socketpair") { socketpair(AF_UNIX, Int32(SOCK_SEQPACKET.rawValue), 0, &ends) }
        #expect(throws: SystemError(call: "write", code: EINVAL)) { try ViewOutputs.check(ends[0]) }
        for descriptor in ends + [null, reader, writer] { close(descriptor) }
        try? FileManager.default.removeItem(at: folder)  // It may stay.
    }
}
