package import Foundation

/// A fenced block of a page.
package struct Sample: CustomStringConvertible, Sendable {
    /// Path relative to the repository.
    package let page: String
    /// Number of the block's first line, from 1.
    package let line: Int
    /// The word after the fence; empty without one.
    package let kind: String
    package let lines: [String]

    package var text: String { lines.joined(separator: "\n") + "\n" }
    package var description: String { "\(page):\(line)" }
}

/// The samples of a documentation page.
package struct Page: Sendable {
    package let path: String
    package let samples: [Sample]
    /// Text between single backquotes outside blocks, with its line number.
    package let inlines: [(line: Int, text: String)]
    /// Lines that Markdown treats as a block because they are indented.
    package let indented: [Int]

    /// The repository.
    package static let root = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
        .deletingLastPathComponent()

    /// Every page of the repository.
    package static func all() throws -> [Page] {
        try paths(withSuffix: ".md").map { try Page($0) }
    }

    /// Files of the repository, without build products.
    package static func paths(withSuffix suffix: String, under folders: [String] = [""]) throws -> [String] {
        var paths: [String] = []
        for folder in folders { try walk(folder, suffix, &paths) }
        return paths
    }

    private static func walk(_ folder: String, _ suffix: String, _ paths: inout [String]) throws {
        for name in try FileManager.default.contentsOfDirectory(atPath: root.appending(path: folder).path()).sorted()
        where !name.hasPrefix(".") {
            let path = folder.isEmpty ? name : "\(folder)/\(name)"
            var isFolder: ObjCBool = false
            _ = FileManager.default.fileExists(atPath: root.appending(path: path).path(), isDirectory: &isFolder)
            if isFolder.boolValue {
                try walk(path, suffix, &paths)
            } else if name.hasSuffix(suffix) {
                paths.append(path)
            }
        }
    }

    package init(_ path: String) throws {
        self.path = path
        var samples: [Sample] = []
        var inlines: [(line: Int, text: String)] = []
        var indented: [Int] = []
        var block: (kind: String, line: Int, lines: [String])?
        var isAfterBlank = true
        for (index, line) in try String(contentsOf: Self.root.appending(path: path), encoding: .utf8).components(
            separatedBy: "\n"
        ).enumerated() {
            let bare = line.trimmingCharacters(in: .whitespaces)
            if bare.hasPrefix("```") {
                if let (kind, first, lines) = block {
                    samples.append(Sample(page: path, line: first, kind: kind, lines: lines))
                    block = nil
                } else {
                    block = (String(bare.dropFirst(3)), index + 2, [])
                }
            } else if block != nil {
                block?.lines.append(line)
            } else {
                if line.hasPrefix("    "), isAfterBlank { indented.append(index + 1) }
                isAfterBlank = bare.isEmpty
                let parts = line.components(separatedBy: "`")
                for number in stride(from: 1, to: parts.count - 1, by: 2) { inlines.append((index + 1, parts[number])) }
            }
        }
        self.samples = samples
        self.inlines = inlines
        self.indented = indented
    }
}
