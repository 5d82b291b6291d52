import ArgumentParser
import BTCall
import CommandKit
import ControlLoop
import Glibc

extension VideoCommand {
    /// `btcall video watch`: a picture for another program.
    struct Watch: BridgeCommand {
        static let configuration = CommandConfiguration(
            commandName: "watch", abstract: "Write a picture to standard output as YUV4MPEG2, for another program.",
            discussion: """
                local is what the far end gets, and without a call the camera; remote is the far end. It ends with the \
                call, with the program that reads, or after --frames. Views stay as they are. A program that reads \
                slowly misses frames.

                Example: btcall video watch local --frames 300
                """)

        @Argument(help: "local or remote.")
        var side: PictureSide

        @Option(help: ArgumentHelp("End after this many frames.", valueName: "number"))
        var frames: Int?

        @OptionGroup var options: CommonOptions

        func validate() throws {
            if let frames, frames < 1 { throw ValidationError("--frames accepts a whole number from 1.") }
        }

        func perform(on bridge: CallBridge, _ output: Output) async throws {
            guard isatty(STDOUT_FILENO) == 0 else {
                throw CommandFailure(
                    "standard output is a terminal: send the picture to a program or a file, for example "
                        + "`btcall video watch \(side.rawValue) | ffplay -`")
            }
            try await write(from: bridge.video, to: STDOUT_FILENO)
        }

        @ControlPlane
        func write(from video: BridgeVideo, to descriptor: Int32) async throws {
            let view = try await open(video)
            var left = frames ?? .max
            do throws(SystemError) {
                let stream = YUV4MPEG2(descriptor, width: view.width, height: view.height, rate: view.framesPerSecond)
                try stream.begin()
                // Waiting for the reader is all there is to do: a signal ends the program at once.
                for await frame in view.frames() {
                    try stream.write(frame.bytes)
                    left -= 1
                    if left == 0 { break }
                }
            } catch {
                await view.close()
                throw CommandFailure("standard output: \(error)")
            }
            await view.close()
        }

        @ControlPlane
        private func open(_ video: BridgeVideo) async throws -> BufferView {
            let call = try await video.picture().call
            switch side {
            case .local: return try await video.localBufferView(call: call)
            case .remote:
                guard let call else {
                    throw CommandFailure(.noSuchCall, "there is no call with video: see `btcall video picture`")
                }
                return try await video.remoteBufferView(call: call)
            }
        }
    }
}

/// Writes frames as YUV4MPEG2, which ffmpeg, GStreamer and mplayer read.
struct YUV4MPEG2 {
    private let descriptor: Int32
    /// The first line.
    let header: String

    /// - Parameters:
    ///   - descriptor: stays the caller's.
    ///   - rate: frames per second.
    init(_ descriptor: Int32, width: Int, height: Int, rate: Double) {
        self.descriptor = descriptor
        // Players go by this rate; one that is none becomes a usual one.
        let thousandths = Int(exactly: (rate * 1000).rounded()).flatMap { (1...1_000_000).contains($0) ? $0 : nil }
        header = "YUV4MPEG2 W\(width) H\(height) F\(thousandths ?? 30_000):1000 Ip A1:1 C420jpeg\n"
    }

    func begin() throws(SystemError) { try put(Array(header.utf8)) }

    /// - Parameter bytes: one I420 frame.
    func write(_ bytes: [UInt8]) throws(SystemError) {
        try put(Array("FRAME\n".utf8))
        try put(bytes)
    }

    private func put(_ bytes: [UInt8]) throws(SystemError) {
        var rest = bytes[...]
        while !rest.isEmpty {
            let count = rest.withUnsafeBytes { Glibc.write(descriptor, $0.baseAddress, $0.count) }
            if count < 0, errno == EINTR { continue }
            guard count > 0 else { throw SystemError("write") }
            rest = rest.dropFirst(count)
        }
    }
}
