package import Foundation

/// Programs built with the tests.
package enum BuiltProgram {
    /// - Parameter names: names of the product and of its target; a build of the tests alone uses the target's.
    package static func named(_ names: String...) -> URL? {
        let directory = URL(filePath: "/proc/self/exe").resolvingSymlinksInPath().deletingLastPathComponent()
        return names.map { directory.appending(path: $0) }
            .first { FileManager.default.isExecutableFile(atPath: $0.path()) }
    }
}
