package import Foundation

/// Programs that were built with the tests.
package enum BuiltProgram {
    /// - Parameter names: of the product, or of its target, by which it is called in a build of the tests alone.
    package static func named(_ names: String...) -> URL? {
        let directory = URL(filePath: "/proc/self/exe").resolvingSymlinksInPath().deletingLastPathComponent()
        return names.map { directory.appending(path: $0) }
            .first { FileManager.default.isExecutableFile(atPath: $0.path()) }
    }
}
