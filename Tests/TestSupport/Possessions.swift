import Foundation

/// What this process has open and mapped.
package enum Possessions {
    package static var descriptors: Int {
        get throws { try FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd").count }
    }

    /// Mappings of rings of frames.
    package static var mappedRings: Int {
        get throws {
            try String(contentsOfFile: "/proc/self/maps", encoding: .utf8)
                .split(separator: "\n").count { $0.contains("memfd:btcall-frames") }
        }
    }
}
