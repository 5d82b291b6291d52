import CallExchange
import ControlLoop
import Foundation
import Testing

@testable import BTCallCommand

/// Only the recording user may read a call's recording.
@Suite @ControlPlane struct RecordingFileTests {
    private let folder: String

    init() throws {
        folder = FileManager.default.temporaryDirectory.appending(path: "btcall-record-\(UUID().uuidString)").path
        try #require(mkdir(folder, 0o700) == 0)
    }

    private func remove() {
        // A leftover directory is not a failure.
        try? FileManager.default.removeItem(atPath: folder)
    }

    private func path(_ name: String) -> String { "\(folder)/\(name)" }

    private func mode(_ name: String) -> mode_t? {
        var status = stat()
        return stat(path(name), &status) == 0 ? status.st_mode & 0o7777 : nil
    }

    /// Records to a WAV file or raw; returns the error.
    private func record(_ name: String, isRaw: Bool) -> String? {
        do {
            if isRaw {
                _ = try RawAudio(farEnd: nil, recording: path(name))
            } else {
                var writer = try WaveWriter(path: path(name), rate: 8000)
                try writer.append([1, 2, 3])
            }
            return nil
        } catch {
            return "\(error)".replacing(folder, with: "DIR")
        }
    }

    @Test(arguments: [false, true]) func `a recording is readable by its owner only, whatever file was there`(
        isRaw: Bool
    ) throws {
        defer { remove() }
        #expect(record("new", isRaw: isRaw) == nil)
        #expect(mode("new") == 0o600)
        try Data(repeating: 7, count: 1000).write(to: URL(fileURLWithPath: path("old")))
        try #require(chmod(path("old"), 0o644) == 0)
        #expect(record("old", isRaw: isRaw) == nil)
        #expect(mode("old") == 0o600)
        #expect(try Data(contentsOf: URL(fileURLWithPath: path("old"))).count == (isRaw ? 0 : 50))
    }

    @Test(arguments: [false, true]) func `no link is followed in a shared directory`(isRaw: Bool) throws {
        defer { remove() }
        let secret = Data("kept".utf8)
        try secret.write(to: URL(fileURLWithPath: path("target")))
        try #require(symlink(path("target"), path("link")) == 0)
        try #require(chmod(folder, 0o1777) == 0)
        let problem = try #require(record("link", isRaw: isRaw))
        #expect(
            problem == "DIR/link: is a symbolic link, and others may write to DIR; "
                + "accepted: a regular file, or a link in a directory to which only root or the program's own user may write"
        )
        #expect(try Data(contentsOf: URL(fileURLWithPath: path("target"))) == secret)
        // In a private directory the link is the user's own.
        try #require(chmod(folder, 0o700) == 0)
        #expect(record("link", isRaw: isRaw) == nil)
        #expect(mode("target") == 0o600)
    }

    @Test func `a FIFO receives raw audio without waiting for its reader`() throws {
        defer { remove() }
        try #require(mkfifo(path("fifo"), 0o644) == 0)
        #expect(record("fifo", isRaw: true) == nil)
        #expect(record("fifo", isRaw: false) == "DIR/fifo: is a FIFO; accepted: a regular file")
        // Even with a reader, a FIFO is refused for a WAV file.
        let reader = open(path("fifo"), O_RDONLY | O_NONBLOCK)
        defer { close(reader) }
        #expect(record("fifo", isRaw: false) == "DIR/fifo: is a FIFO; accepted: a regular file")
        #expect(mode("fifo") == 0o644)
        #expect(record("missing/file", isRaw: false) == "DIR/missing/file: No such file or directory")
        #expect(record(".", isRaw: true)?.hasPrefix("DIR/.: ") == true)
    }
}
