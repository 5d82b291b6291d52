internal import Glibc

/// Files that the program writes.
package enum OwnFile {
    /// Makes a directory unless it exists; its parent has to. An existing one keeps its mode.
    package static func makeDirectory(_ path: String, mode: UInt32 = 0o750) throws(SystemError) {
        if mkdir(path, mode) != 0, errno != EEXIST { throw SystemError("mkdir") }
    }

    /// Puts a new file in the place of another one in one step: readers, and who comes after a power cut, find the old or the new
    /// contents, never a part.
    ///
    /// The contents go to `FILE.new`, which is always made anew: what has that name is removed and never written to, so that a link
    /// there leads nowhere.
    ///
    /// - Parameters:
    ///   - mode: of the new file, less the process's umask.
    ///   - exactMode: in place of `mode`, whatever the umask is.
    ///   - isSynced: waits until the disk has the contents and the name. Without it a power cut may cost both files.
    package static func replace(
        _ path: String, with bytes: [UInt8], mode: UInt32 = 0o600, exactMode: UInt32? = nil, isSynced: Bool = true
    ) throws(SystemError) {
        let name = path.split(separator: "/", omittingEmptySubsequences: false).last.map { String($0) } ?? path
        let parent = try SystemError.check("open") {
            open(ForeignFile.directory(of: path), O_RDONLY | O_DIRECTORY | O_CLOEXEC)
        }
        defer { close(parent) }
        let temporary = name + ".new"
        let descriptor = try create(temporary, in: parent, mode)
        do throws(SystemError) {
            do throws(SystemError) {
                try write(bytes, to: descriptor)
                if let exactMode { _ = try SystemError.check("fchmod") { fchmod(descriptor, exactMode) } }
                if isSynced { _ = try SystemError.check("fsync") { fsync(descriptor) } }
            } catch {
                close(descriptor)
                throw error
            }
            // A disk of the network may tell only now that it is full. EINTR has closed it as well.
            guard close(descriptor) == 0 || errno == EINTR else { throw SystemError("close") }
            _ = try SystemError.check("rename") { renameat(parent, temporary, parent, name) }
        } catch {
            // It is removed before it is made the next time, too.
            _ = unlinkat(parent, temporary, 0)
            throw error
        }
        // A file system that cannot sync a directory has no better to offer.
        if isSynced { _ = fsync(parent) }
    }

    private static func create(_ name: String, in directory: Int32, _ mode: UInt32) throws(SystemError) -> Int32 {
        let flags = O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC
        let descriptor = openat(directory, name, flags, mode)
        if descriptor >= 0 { return descriptor }
        guard errno == EEXIST else { throw SystemError("open") }
        _ = try SystemError.check("unlink") { unlinkat(directory, name, 0) }
        return try SystemError.check("open") { openat(directory, name, flags, mode) }
    }

    private static func write(_ bytes: [UInt8], to descriptor: Int32) throws(SystemError) {
        var written = 0
        while written < bytes.count {
            let count = bytes[written...].withUnsafeBytes { Glibc.write(descriptor, $0.baseAddress, $0.count) }
            if count < 0, errno == EINTR { continue }
            guard count > 0 else { throw SystemError("write") }
            written += count
        }
    }

    /// Opens a file to add to its end; made when it does not exist.
    ///
    /// It never waits: a FIFO that nobody reads is refused with `ENXIO`. In a directory to which others may write, a link is refused,
    /// and, where everybody may, a file of somebody else's: who put it there could read it.
    ///
    /// - Returns: a descriptor that the caller closes.
    package static func openToAppend(_ path: String, mode: UInt32 = 0o640) throws(FileRefusal) -> Int32 {
        let directory = ForeignFile.directory(of: path)
        let isShared = ForeignFile.isShared(directory)
        let flags = O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NONBLOCK | O_NOCTTY | (isShared ? O_NOFOLLOW : 0)
        let descriptor: Int32
        do throws(SystemError) {
            descriptor = try SystemError.check("open") { open(path, flags, mode) }
        } catch {
            let isLink = isShared && error.code == ELOOP
            throw FileRefusal(path: path, reason: isLink ? .link(directory: directory) : .failed(error))
        }
        var (file, parent) = (stat(), stat())
        guard isShared, stat(directory, &parent) == 0, parent.st_mode & S_IWOTH != 0 else { return descriptor }
        guard fstat(descriptor, &file) == 0, file.st_uid == 0 || file.st_uid == geteuid() else {
            close(descriptor)
            throw FileRefusal(path: path, reason: .owner(directory: directory))
        }
        return descriptor
    }

    /// Opens a file for what is said in a call, to write it from its beginning; made when it does not exist. It is for its owner
    /// alone, whatever the umask is and whoever could read it before.
    ///
    /// It never waits, and nothing is changed of what is refused. In a directory to which others may write, a link is refused, and
    /// what is no file; where everybody may, also a file of somebody else's, who could read what is written.
    ///
    /// - Parameter acceptsFIFO: opens a FIFO for reading as well: it needs no reader then.
    /// - Returns: a descriptor that does not block, which the caller closes.
    package static func openToRecord(
        _ path: String, acceptsFIFO: Bool = false
    ) throws(FileRefusal) -> (descriptor: Int32, isFIFO: Bool) {
        let directory = ForeignFile.directory(of: path)
        let isShared = ForeignFile.isShared(directory)
        var found = stat()
        let kind = stat(path, &found) == 0 ? ForeignFile.kind(found) : nil
        let flags = acceptsFIFO && found.st_mode & S_IFMT == S_IFIFO ? O_RDWR : O_WRONLY | O_CREAT
        let descriptor = open(path, flags | O_NONBLOCK | O_NOCTTY | O_CLOEXEC | (isShared ? O_NOFOLLOW : 0), 0o600)
        guard descriptor >= 0 else {
            let error = SystemError("open")
            // Nobody reads the FIFO, and nobody is waited for.
            if error.code == ENXIO, let kind { throw FileRefusal(path: path, reason: .kind(kind)) }
            let isLink = isShared && error.code == ELOOP
            throw FileRefusal(path: path, reason: isLink ? .link(directory: directory) : .failed(error))
        }
        do throws(FileRefusal) {
            return (descriptor, try beginRecording(descriptor, path, isShared, acceptsFIFO))
        } catch {
            close(descriptor)
            throw error
        }
    }

    /// - Returns: whether it is a FIFO.
    private static func beginRecording(
        _ descriptor: Int32, _ path: String, _ isShared: Bool, _ acceptsFIFO: Bool
    ) throws(FileRefusal) -> Bool {
        let directory = ForeignFile.directory(of: path)
        var (file, parent) = (stat(), stat())
        guard fstat(descriptor, &file) == 0 else {
            throw FileRefusal(path: path, reason: .failed(SystemError("fstat")))
        }
        let type = file.st_mode & S_IFMT
        let isAccepted = (type == S_IFIFO && acceptsFIFO) || (type == S_IFCHR && !isShared)
        if !isAccepted, let kind = ForeignFile.kind(file) { throw FileRefusal(path: path, reason: .kind(kind)) }
        let isOwn = file.st_uid == geteuid()
        if isShared, stat(directory, &parent) == 0, parent.st_mode & S_IWOTH != 0, !isOwn, file.st_uid != 0 {
            throw FileRefusal(path: path, reason: .owner(directory: directory))
        }
        guard type == S_IFREG else { return type == S_IFIFO }
        // The mode of somebody else's file, which root may write, is that one's affair.
        if isOwn, file.st_mode & 0o177 != 0, fchmod(descriptor, 0o600) != 0 {
            throw FileRefusal(path: path, reason: .failed(SystemError("fchmod")))
        }
        guard ftruncate(descriptor, 0) == 0 else {
            throw FileRefusal(path: path, reason: .failed(SystemError("ftruncate")))
        }
        return false
    }
}
