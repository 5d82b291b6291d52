import BoardInput
import ControlLoop
import Foundation
import Glibc
import Testing

@Suite(.timeLimit(.minutes(1))) @ControlPlane struct ForeignLightTests {
    @Test func `a light whose files are FIFOs is refused without blocking`() throws {
        let folder = FileManager.default.temporaryDirectory.appending(path: "btcall-led-\(UUID().uuidString)").path()
        defer { try? FileManager.default.removeItem(atPath: folder) }  // It may stay in the temporary directory.
        mkdir(folder, 0o700)
        try #require(mkfifo(folder + "/max_brightness", 0o600) == 0)
        #expect(throws: BoardInputError.self) { try LED(path: folder) }
        unlink(folder + "/max_brightness")
        try Data("1\n".utf8).write(to: URL(filePath: folder + "/max_brightness"))
        try #require(mkfifo(folder + "/brightness", 0o600) == 0)
        let error = #expect(throws: BoardInputError.self) { try LED(path: folder) }
        #expect(error?.description.contains("/brightness is a FIFO; accepted: a regular file") == true)
    }
}
