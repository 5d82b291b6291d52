import BTCall
import BTCallDaemon
import Configuration
import ControlLoop
import Foundation
import Glibc
import TestSupport
import Testing

extension DaemonTests {
    @Suite(.timeLimit(.minutes(2))) @ControlPlane struct FullDiskTests {
        private let folder = FileManager.default.temporaryDirectory.appending(path: "btcall-full-\(UUID().uuidString)")
        private var state: String { folder.path + "/state" }

        @Test func `A setting made while the disk was full is stored once it has room, without another change`()
            async throws
        {
            defer { try? FileManager.default.removeItem(at: folder) }  // A folder in the temporary directory may stay.
            try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
            // A file in place of the directory.
            try Data().write(to: URL(filePath: state))
            let old = umask(0)
            defer { umask(old) }
            try await Box.run(
                configure: {
                    $0.stateDirectory = state
                    $0.timeouts.state = .milliseconds(50)
                },
                body: { box in
                    try await box.bridge.setSetting("routing.newHeadset", to: "take")
                    let problem = try #require(try await box.bridge.status().problems.first { $0.id == "state" })
                    #expect(problem.remedy.contains("\(state)/preferences.conf: "))
                    try FileManager.default.removeItem(atPath: state)
                    try await box.noProblem("state")
                    let text = try String(contentsOfFile: state + "/preferences.conf", encoding: .utf8)
                    #expect(text.contains("newHeadset = take\n"))
                    // The reply to a later setting arrives once the disk has it.
                    try await box.bridge.setSetting("routing.newHeadset", to: "stay")
                    let later = try String(contentsOfFile: state + "/preferences.conf", encoding: .utf8)
                    #expect(!later.contains("newHeadset = take\n"))
                    var status = stat()
                    #expect(lstat(state, &status) == 0 && status.st_mode & 0o7777 == 0o750)
                    #expect(lstat(state + "/preferences.conf", &status) == 0 && status.st_mode & 0o7777 == 0o600)
                })
        }
    }
}
