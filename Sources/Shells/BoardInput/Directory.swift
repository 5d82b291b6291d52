import ControlLoop
import Glibc

/// Reads what the kernel shows as files: directories, small texts, links.
package enum Directory {
    /// Names without `.` and `..`, in no order; empty if the path is no directory.
    package static func names(_ path: String) -> [String] {
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

    /// At most 4 KiB without the last end of line; nil if the file cannot be read.
    package static func text(_ path: String) -> String? {
        // An unreadable file gives nil, as documented above.
        guard let bytes = try? ForeignFile.read(path, atMost: 4096, .leftOut) else { return nil }
        let text = String(decoding: bytes, as: UTF8.self)
        return text.hasSuffix("\n") ? String(text.dropLast()) : text
    }

    /// The path without links; nil when it leads nowhere.
    package static func resolve(_ path: String) -> String? {
        guard let resolved = realpath(path, nil) else { return nil }
        defer { free(resolved) }
        return String(cString: resolved)
    }
}
