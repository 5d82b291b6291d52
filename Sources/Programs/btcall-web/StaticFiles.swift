import ControlLoop
import Glibc

/// Files of a folder, as a web browser asks for them.
struct StaticFiles: Sendable {
    /// Larger files are not served.
    private static let largest = 8 << 20
    private static let types = [
        "html": "text/html; charset=utf-8", "css": "text/css; charset=utf-8",
        "js": "text/javascript; charset=utf-8", "json": "application/json", "svg": "image/svg+xml",
        "png": "image/png", "ico": "image/vnd.microsoft.icon", "txt": "text/plain; charset=utf-8",
        "map": "application/json", "ts": "text/plain; charset=utf-8", "wav": "audio/wav",
        "webmanifest": "application/manifest+json",
    ]

    /// Absolute, without symbolic links; empty when the folder does not exist.
    private let folder: String

    init(folder: String) {
        self.folder = Self.resolved(folder) ?? ""
    }

    /// - Parameters:
    ///   - path: decoded, begins with a slash. A path that ends with a slash is the folder's `index.html`.
    ///   - known: value of `If-None-Match`.
    func response(_ path: String, ifNot known: String?) throws(WebError) -> WebResponse {
        let absent = WebError(404, "noSuchPath", "there is no such file")
        let wanted = path.hasSuffix("/") ? path + "index.html" : path
        let parts = wanted.split(separator: "/")
        guard !folder.isEmpty, !parts.isEmpty, parts.allSatisfy({ !$0.hasPrefix(".") }),
            let ending = parts.last?.split(separator: ".").last, let type = Self.types[String(ending)],
            let file = Self.resolved(folder + "/" + parts.joined(separator: "/")), file.hasPrefix(folder + "/")
        else { throw absent }
        var status = stat()
        guard stat(file, &status) == 0, status.st_mode & S_IFMT == S_IFREG else { throw absent }
        let tag =
            "\"\(String(status.st_mtim.tv_sec, radix: 16))-\(String(status.st_mtim.tv_nsec, radix: 16))"
            + "-\(String(status.st_size, radix: 16))\""
        var response: WebResponse
        if known == tag {
            response = WebResponse(304)
        } else {
            do throws(FileRefusal) {
                response = WebResponse(200, type: type, try ForeignFile.read(file, atMost: Self.largest))
            } catch {
                throw absent
            }
        }
        response.headers = response.headers.filter { $0.name == "Content-Type" } + Self.fields + [("ETag", tag)]
        return response
    }

    private static let fields: [(name: String, value: String)] = [
        ("Cache-Control", "no-cache"), ("X-Content-Type-Options", "nosniff"), ("Referrer-Policy", "no-referrer"),
        ("X-Frame-Options", "DENY"), ("Content-Security-Policy", "default-src 'self'"),
    ]

    private static func resolved(_ path: String) -> String? {
        guard let text = realpath(path, nil) else { return nil }
        defer { free(text) }
        return String(cString: text)
    }
}
