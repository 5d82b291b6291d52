import Configuration
import Foundation

/// A directory that looks like an LED of the kernel; lit at first, by a trigger.
final class FakeLight {
    let folder = FileManager.default.temporaryDirectory.appending(path: "btcall-led-\(UUID())")

    init() throws {
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        for (name, text) in [("brightness", "255"), ("max_brightness", "255"), ("trigger", "[heartbeat] none")] {
            try (text + "\n").write(to: folder.appending(path: name), atomically: false, encoding: .utf8)
        }
    }

    deinit {
        try? FileManager.default.removeItem(at: folder)  // It may stay in the temporary directory.
    }

    var specification: PrivacyOutputSpecification? { PrivacyOutputSpecification(folder.path()) }

    func read(_ name: String) throws -> String {
        try String(contentsOf: folder.appending(path: name), encoding: .utf8).split(separator: "\n").joined()
    }
}
