import ControlLoop
import Glibc

/// Reading what the kernel shows as files: names in a directory, small texts, where a link leads.
enum Directory {
    /// Without `.` and `..`, in no order; empty for what is no directory.
    static func names(_ path: String) -> [String] {
        guard let directory = opendir(path) else { return [] }
        defer { closedir(directory) }
        var names: [String] = []
        while let entry = readdir(directory) {
            let name = withUnsafeBytes(of: &entry.pointee.d_name) { bytes in
                String(decoding: bytes.prefix { $0 != 0 }, as: UTF8.self)
            }
            if name != ".", name != ".." { names.append(name) }
        }
        return names
    }

    /// At most 4 KiB without the last end of line; nil for what cannot be read.
    static func text(_ path: String) -> String? {
        // What cannot be read is nothing, as it says above.
        guard let bytes = try? ForeignFile.read(path, atMost: 4096, .leftOut) else { return nil }
        let text = String(decoding: bytes, as: UTF8.self)
        return text.hasSuffix("\n") ? String(text.dropLast()) : text
    }

    /// The path without links; nil when it leads nowhere.
    static func resolve(_ path: String) -> String? {
        guard let resolved = realpath(path, nil) else { return nil }
        defer { free(resolved) }
        return String(cString: resolved)
    }
}
