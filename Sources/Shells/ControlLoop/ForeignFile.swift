internal import CBTCall
internal import Glibc

/// Why a file was not opened or read, and what is accepted.
package struct FileRefusal: Error, Equatable, Sendable, CustomStringConvertible {
    package enum Reason: Equatable, Sendable {
        case failed(SystemError)
        /// Kind of file instead of a regular one: `a FIFO`.
        case kind(String)
        /// A symbolic link in a directory that others may write to.
        case link(directory: String)
        /// A file of another user in a directory that everybody may write to.
        case owner(directory: String)
        /// More bytes than accepted.
        case tooLong(Int)
        /// A secret that every user may read or write.
        case worldAccessible
    }

    package let path: String
    package let reason: Reason

    package init(path: String, reason: Reason) {
        self.path = path
        self.reason = reason
    }

    /// What is wrong, without the file's name.
    package var problem: String {
        switch reason {
        case .failed(let error): "\(error)"
        case .kind(let kind): "is \(kind)"
        case .link(let directory): "is a symbolic link, and others may write to \(directory)"
        case .owner(let directory): "belongs to somebody else, and everybody may write to \(directory)"
        case .tooLong(let limit): "has more than \(limit) bytes"
        case .worldAccessible: "may be accessed by everybody, and holds a secret"
        }
    }

    package var accepted: String {
        switch reason {
        case .failed, .kind: "a regular file"
        case .link: "a regular file, or a link in a directory to which only root or the program's own user may write"
        case .owner: "a file of the program's own user, or of root's"
        case .tooLong(let limit): "a regular file of at most \(limit) bytes"
        case .worldAccessible: "a file for its owner and group only (chmod o= FILE)"
        }
    }

    /// What is wrong and what is accepted, without the file's name.
    package var what: String { "\(problem); accepted: \(accepted)" }

    package var description: String { "\(path): \(what)" }
}

/// Opens files that another user may have put there: ring tones, configuration, quirks, files in the state directory.
///
/// Only regular files are opened, so that neither a FIFO blocks the caller nor opening a device has an effect (a watchdog
/// starts). The target of the name is held first (`O_PATH`), checked, and only then opened: nobody can replace it in
/// between. A symbolic link is followed only out of a directory that nobody but root and the program's own user may write
/// to; links in earlier components of the path belong to the system.
package enum ForeignFile {
    package enum Access: Sendable {
        case reading, writing
    }

    /// Treatment of bytes beyond the limit.
    package enum Excess: Sendable {
        case refused, leftOut
    }

    /// Accepted kinds of files.
    package enum Kinds: Sendable {
        case regular
        /// Pipes and devices as well, which may block the caller: for a file named by the person who runs the program.
        case any
    }

    package enum Secrecy: Sendable {
        case none
        /// Refused if everybody may access the file.
        case secret
    }

    private static let mostLinks = 16

    /// Opens a regular file.
    ///
    /// - Returns: a descriptor that the caller closes.
    package static func open(_ path: String, for access: Access = .reading) throws(FileRefusal) -> Int32 {
        var current = path
        for _ in 0..<mostLinks {
            let place = btcall_open_path(current)
            guard place >= 0 else { throw failure(path, "open") }
            defer { close(place) }
            var status = stat()
            guard fstat(place, &status) == 0 else { throw failure(path, "fstat") }
            guard status.st_mode & S_IFMT == S_IFLNK else { return try open(place, current, status, access, path) }
            let directory = directory(of: current)
            guard !isShared(directory) else { throw FileRefusal(path: path, reason: .link(directory: directory)) }
            let target = try target(of: current, path)
            current = target.hasPrefix("/") ? target : directory + "/" + target
        }
        throw FileRefusal(path: path, reason: .failed(SystemError(call: "open", code: ELOOP)))
    }

    /// Reads a file from its beginning.
    ///
    /// - Parameter limit: most bytes; nothing beyond them is held in memory.
    package static func read(
        _ path: String, atMost limit: Int, _ excess: Excess = .refused, kinds: Kinds = .regular,
        secrecy: Secrecy = .none
    ) throws(FileRefusal) -> [UInt8] {
        let descriptor: Int32
        switch kinds {
        case .regular: descriptor = try open(path)
        case .any:
            descriptor = Glibc.open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY)
            guard descriptor >= 0 else { throw failure(path, "open") }
        }
        defer { close(descriptor) }
        if secrecy == .secret {
            var status = stat()
            guard fstat(descriptor, &status) == 0 else { throw failure(path, "fstat") }
            guard status.st_mode & S_IRWXO == 0 else { throw FileRefusal(path: path, reason: .worldAccessible) }
        }
        var bytes: [UInt8] = []
        var part = [UInt8](repeating: 0, count: min(limit, 1 << 16) + 1)
        while bytes.count <= limit {
            let room = min(part.count, limit + 1 - bytes.count)
            let count = part.withUnsafeMutableBytes { Glibc.read(descriptor, $0.baseAddress, room) }
            if count < 0, errno == EINTR { continue }
            guard count >= 0 else { throw failure(path, "read") }
            guard count > 0 else { return bytes }
            bytes += part[..<count]
        }
        switch excess {
        case .refused: throw FileRefusal(path: path, reason: .tooLong(limit))
        case .leftOut: return Array(bytes[..<limit])
        }
    }

    /// Whether users other than root and the program's own may create files in a directory, or it cannot be checked.
    package static func isShared(_ directory: String) -> Bool {
        var status = stat()
        guard stat(directory, &status) == 0 else { return true }
        return status.st_mode & (S_IWGRP | S_IWOTH) != 0 || (status.st_uid != 0 && status.st_uid != geteuid())
    }

    /// The directory part of a path.
    package static func directory(of path: String) -> String {
        guard let slash = path.lastIndex(of: "/") else { return "." }
        return slash == path.startIndex ? "/" : String(path[..<slash])
    }

    /// - Parameters:
    ///   - place: holds the file found at `current`; `status` belongs to it.
    ///   - path: for messages.
    private static func open(
        _ place: Int32, _ current: String, _ status: stat, _ access: Access, _ path: String
    ) throws(FileRefusal) -> Int32 {
        if let kind = kind(status) { throw FileRefusal(path: path, reason: .kind(kind)) }
        let flags = (access == .reading ? O_RDONLY : O_WRONLY) | O_NONBLOCK | O_CLOEXEC | O_NOCTTY
        var descriptor = Glibc.open("/proc/self/fd/\(place)", flags)
        if descriptor < 0, errno == ENOENT {
            // Without /proc it is opened by its name again, and has to be the same file.
            descriptor = Glibc.open(current, flags | O_NOFOLLOW)
        }
        guard descriptor >= 0 else { throw failure(path, "open") }
        var opened = stat()
        guard fstat(descriptor, &opened) == 0, opened.st_dev == status.st_dev, opened.st_ino == status.st_ino else {
            close(descriptor)
            throw FileRefusal(path: path, reason: .failed(SystemError(call: "open", code: ESTALE)))
        }
        return descriptor
    }

    /// Nil for a regular file.
    static func kind(_ status: stat) -> String? {
        switch status.st_mode & S_IFMT {
        case S_IFREG: nil
        case S_IFIFO: "a FIFO"
        case S_IFSOCK: "a socket"
        case S_IFDIR: "a directory"
        case S_IFCHR: "a character device"
        case S_IFBLK: "a block device"
        default: "no regular file"
        }
    }

    private static func target(of link: String, _ path: String) throws(FileRefusal) -> String {
        var bytes = [CChar](repeating: 0, count: Int(PATH_MAX))
        let count = readlink(link, &bytes, bytes.count)
        guard count >= 0 else { throw failure(path, "readlink") }
        return String(decoding: bytes[..<count].map { UInt8(bitPattern: $0) }, as: UTF8.self)
    }

    private static func failure(_ path: String, _ call: String) -> FileRefusal {
        FileRefusal(path: path, reason: .failed(SystemError(call)))
    }
}
