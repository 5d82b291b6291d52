internal import Glibc

/// Files that the program writes.
package enum OwnFile {
    /// Creates a directory unless it exists; its parent has to exist. An existing one keeps its mode.
    package static func makeDirectory(_ path: String, mode: UInt32 = 0o750) throws(SystemError) {
        if mkdir(path, mode) != 0, errno != EEXIST { throw SystemError("mkdir") }
    }

    /// Replaces a file in one step: readers, also after a power cut, find the old or the new contents, never a part.
    ///
    /// The contents go to `FILE.new`, which is always created: an existing file of that name is removed and never written
    /// to, so that a link there has no effect.
    ///
    /// - Parameters:
    ///   - mode: of the new file, less the process's umask.
    ///   - exactMode: instead of `mode`, whatever the umask is.
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
            // A network disk may report only now that it is full. After EINTR the file is closed as well.
            guard close(descriptor) == 0 || errno == EINTR else { throw SystemError("close") }
            _ = try SystemError.check("rename") { renameat(parent, temporary, parent, name) }
        } catch {
            // The next attempt removes it before creating it, too.
            _ = unlinkat(parent, temporary, 0)
            throw error
        }
        // A failure is ignored: some file systems cannot sync a directory.
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

    /// Opens a file to append to its end; creates it if missing.
    ///
    /// It never waits: a FIFO without a reader is refused with `ENXIO`. In a directory that others may write to, a link is
    /// refused, and, if everybody may write to it, a file of another user, who could read it.
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

    /// Opens a file for the audio of a call, to write it from its beginning; creates it if missing. Only its owner may read
    /// it then, whatever the umask and its earlier mode are.
    ///
    /// It never waits, and a refused file stays unchanged. In a directory that others may write to, links and files other
    /// than regular ones are refused; if everybody may write to it, also a file of another user, who could read the audio.
    ///
    /// - Parameter acceptsFIFO: also opens a FIFO, for reading as well, so that it needs no reader.
    /// - Returns: a non-blocking descriptor, which the caller closes.
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
            // The FIFO has no reader, and this does not wait for one.
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
        // The mode of another user's file, which root may write to, is that user's affair.
        if isOwn, file.st_mode & 0o177 != 0, fchmod(descriptor, 0o600) != 0 {
            throw FileRefusal(path: path, reason: .failed(SystemError("fchmod")))
        }
        guard ftruncate(descriptor, 0) == 0 else {
            throw FileRefusal(path: path, reason: .failed(SystemError("ftruncate")))
        }
        return false
    }
}
