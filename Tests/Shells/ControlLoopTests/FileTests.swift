import CBTCall
import ControlLoop
import Foundation
import Glibc
import Testing

/// A directory of its own that nobody else may write to.
private final class Folder {
    let path: String

    init() {
        path = FileManager.default.temporaryDirectory.appending(path: "btcall-files-\(UUID().uuidString)").path()
        mkdir(path, 0o700)
    }

    deinit { try? FileManager.default.removeItem(atPath: path) }  // It may stay in the temporary directory.

    func make(_ name: String, _ text: String, mode: mode_t = 0o644) throws -> String {
        let file = path + "/" + name
        try Data(text.utf8).write(to: URL(filePath: file))
        chmod(file, mode)
        return file
    }

    /// A directory that everybody may write to.
    func makeShared() -> String {
        mkdir(path + "/shared", 0o777)
        chmod(path + "/shared", 0o777)
        return path + "/shared"
    }

    func mode(_ name: String) -> mode_t {
        var status = stat()
        return lstat(path + "/" + name, &status) == 0 ? status.st_mode & 0o7777 : 0
    }

    func text(_ name: String) -> String? {
        FileManager.default.contents(atPath: path + "/" + name).map { String(decoding: $0, as: UTF8.self) }
    }

    /// Runs with another umask, as without the unit.
    func withMask(_ mask: mode_t, _ body: () throws -> Void) rethrows {
        let old = umask(mask)
        defer { umask(old) }
        try body()
    }
}

@Suite(.timeLimit(.minutes(1))) struct ForeignFileTests {
    private func refusal(_ path: String, atMost limit: Int = 100) -> FileRefusal? {
        do throws(FileRefusal) {
            _ = try ForeignFile.read(path, atMost: limit)
            return nil
        } catch {
            return error
        }
    }

    @Test func `a regular file is read up to the limit, and a longer one is refused or cut`() throws {
        let folder = Folder()
        let file = try folder.make("tone", "0123456789")
        #expect(try ForeignFile.read(file, atMost: 10) == Array("0123456789".utf8))
        #expect(try ForeignFile.read(file, atMost: 4, .leftOut) == Array("0123".utf8))
        #expect(try ForeignFile.read(folder.make("empty", ""), atMost: 0).isEmpty)
        #expect(refusal(file, atMost: 9)?.reason == .tooLong(9))
        let text = try #require(refusal(file, atMost: 9)).description
        #expect(text == "\(file): has more than 9 bytes; accepted: a regular file of at most 9 bytes")
        // Files of the kernel have no size.
        #expect(try !ForeignFile.read("/proc/self/status", atMost: 1 << 16).isEmpty)
    }

    @Test func `a FIFO is refused at once, and is not opened`() throws {
        let folder = Folder()
        let fifo = folder.path + "/fifo"
        try #require(mkfifo(fifo, 0o600) == 0)
        #expect(refusal(fifo)?.description == "\(fifo): is a FIFO; accepted: a regular file")
        #expect(throws: FileRefusal(path: fifo, reason: .kind("a FIFO"))) {
            try ForeignFile.open(fifo, for: .writing)
        }
        // A writer would find a reader if there had been one.
        let writer = open(fifo, O_WRONLY | O_NONBLOCK)
        #expect(writer < 0 && errno == ENXIO)
    }

    @Test func `nothing but a regular file is opened`() throws {
        let folder = Folder()
        #expect(refusal(folder.path)?.reason == .kind("a directory"))
        #expect(refusal("/dev/zero")?.reason == .kind("a character device"))
        #expect(refusal(folder.path + "/none")?.reason == .failed(SystemError(call: "open", code: ENOENT)))
        var grouped: Int32 = 0
        let socket = folder.path + "/socket"
        let listener = btcall_listen_at(socket, 0o600, gid_t.max, &grouped)
        try #require(listener >= 0)
        defer { close(listener) }
        #expect(refusal(socket)?.reason == .kind("a socket"))
        #expect(refusal(folder.path + "/none")?.what.hasSuffix("(ENOENT); accepted: a regular file") == true)
    }

    @Test func `a secret is for its owner and group, and the mode is that of the opened file`() throws {
        let folder = Folder()
        for mode in [0o600, 0o640, 0o660, 0o400] as [mode_t] {
            let file = try folder.make("secret", "text", mode: mode)
            #expect(try ForeignFile.read(file, atMost: 10, secrecy: .secret) == Array("text".utf8))
        }
        let file = try folder.make("secret", "text")
        #expect(symlink("secret", folder.path + "/link") == 0)
        for mode in [0o644, 0o604, 0o602, 0o601] as [mode_t] {
            chmod(file, mode)
            for path in [file, folder.path + "/link"] {
                #expect(throws: FileRefusal(path: path, reason: .worldAccessible)) {
                    try ForeignFile.read(path, atMost: 10, secrecy: .secret)
                }
            }
        }
        #expect(try ForeignFile.read(file, atMost: 10) == Array("text".utf8))
        #expect(
            FileRefusal(path: file, reason: .worldAccessible).description
                == "\(file): may be accessed by everybody, and holds a secret; accepted: a file for its owner and group only (chmod o= FILE)"
        )
    }

    @Test func `links are followed in the user's own directory, but not in one that others may write to`() throws {
        let folder = Folder()
        let shared = folder.makeShared()
        let file = try folder.make("tone", "tone")
        let (own, foreign, chain) = (folder.path + "/own", shared + "/foreign", folder.path + "/chain")
        #expect(symlink("tone", own) == 0 && symlink(file, foreign) == 0 && symlink("shared/foreign", chain) == 0)
        #expect(try ForeignFile.read(own, atMost: 10) == Array("tone".utf8))
        for path in [foreign, chain] {
            #expect(refusal(path)?.reason == .link(directory: shared), "\(path)")
            #expect(refusal(path)?.description.contains("a symbolic link, and others may write to \(shared)") == true)
        }
        // A regular file is accepted anywhere.
        try Data("there".utf8).write(to: URL(filePath: shared + "/file"))
        #expect(try ForeignFile.read(shared + "/file", atMost: 10) == Array("there".utf8))
        let loop = folder.path + "/loop"
        #expect(symlink("loop", loop) == 0)
        #expect(refusal(loop)?.reason == .failed(SystemError(call: "open", code: ELOOP)))
        let fifo = folder.path + "/fifo"
        #expect(mkfifo(fifo, 0o600) == 0 && symlink("fifo", folder.path + "/pipe") == 0)
        #expect(refusal(folder.path + "/pipe")?.reason == .kind("a FIFO"))
    }
}

@Suite(.timeLimit(.minutes(1))) struct OwnFileTests {
    @Test func `whatever the umask is, a file is the user's alone, and its directory also the group's`() throws {
        let folder = Folder()
        try folder.withMask(0) {
            try OwnFile.makeDirectory(folder.path + "/state")
            try OwnFile.makeDirectory(folder.path + "/state")
            try OwnFile.replace(folder.path + "/state/file", with: Array("text".utf8))
            try OwnFile.replace(folder.path + "/state/group", with: [], mode: 0o640)
        }
        try folder.withMask(0o077) { try OwnFile.replace(folder.path + "/state/exact", with: [], exactMode: 0o644) }
        #expect(folder.mode("state") == 0o750)
        #expect(folder.mode("state/file") == 0o600 && folder.text("state/file") == "text")
        #expect(folder.mode("state/group") == 0o640 && folder.mode("state/exact") == 0o644)
    }

    @Test func `an existing file of the temporary name is not written to`() throws {
        let folder = Folder()
        let victim = try folder.make("victim", "untouched")
        let file = folder.path + "/file"
        #expect(symlink(victim, file + ".new") == 0)
        try OwnFile.replace(file, with: Array("1".utf8))
        #expect(folder.text("file") == "1" && folder.text("victim") == "untouched")
        // A link is not a file yet: nothing is created at its target.
        #expect(symlink(folder.path + "/made", file + ".new") == 0)
        try OwnFile.replace(file, with: Array("2".utf8))
        #expect(folder.text("file") == "2" && folder.text("made") == nil)
        #expect(mkfifo(file + ".new", 0o600) == 0)
        try OwnFile.replace(file, with: Array("3".utf8))
        #expect(folder.text("file") == "3")
        // The name itself may be of any kind as well.
        #expect(unlink(file) == 0 && symlink(victim, file) == 0)
        try OwnFile.replace(file, with: Array("4".utf8))
        #expect(folder.text("file") == "4" && folder.text("victim") == "untouched")
        #expect(try FileManager.default.contentsOfDirectory(atPath: folder.path).sorted() == ["file", "victim"])
    }

    @Test func `a failure leaves the old file and no other`() throws {
        let folder = Folder()
        let file = try folder.make("file", "old")
        mkdir(file + ".new", 0o700)
        #expect(throws: SystemError(call: "unlink", code: EISDIR)) { try OwnFile.replace(file, with: [1]) }
        rmdir(file + ".new")
        mkdir(folder.path + "/directory", 0o700)
        #expect(throws: SystemError(call: "rename", code: EISDIR)) {
            try OwnFile.replace(folder.path + "/directory", with: [1])
        }
        #expect(throws: SystemError(call: "open", code: ENOTDIR)) { try OwnFile.replace(file + "/x", with: [1]) }
        #expect(folder.text("file") == "old")
        #expect(try FileManager.default.contentsOfDirectory(atPath: folder.path).sorted() == ["directory", "file"])
    }

    @Test func `lines are appended to the user's own file, and to no link or foreign file in a shared directory`()
        throws
    {
        let folder = Folder()
        let shared = folder.makeShared()
        let victim = try folder.make("victim", "")
        func append(_ path: String) throws(FileRefusal) { close(try OwnFile.openToAppend(path)) }
        try folder.withMask(0) { try append(folder.path + "/record") }
        #expect(folder.mode("record") == 0o640)
        #expect(symlink("victim", folder.path + "/link") == 0 && symlink(victim, shared + "/link") == 0)
        try append(folder.path + "/link")
        try append(shared + "/record")
        let link = #expect(throws: FileRefusal.self) { try append(shared + "/link") }
        #expect(link?.reason == .link(directory: shared))
        #expect(mkfifo(folder.path + "/fifo", 0o600) == 0)
        let fifo = #expect(throws: FileRefusal.self) { try append(folder.path + "/fifo") }
        #expect(fifo?.reason == .failed(SystemError(call: "open", code: ENXIO)))
        // Only root can create another user's file.
        if geteuid() == 0 {
            chmod(shared + "/record", 0o666)
            chown(shared + "/record", 65534, 65534)
            let foreign = #expect(throws: FileRefusal.self) { try append(shared + "/record") }
            #expect(foreign?.reason == .owner(directory: shared))
        }
    }

    @Test func `a socket has its mode from its beginning, whatever the umask is`() throws {
        let folder = Folder()
        for mask in [0, 0o077] as [mode_t] {
            try folder.withMask(mask) {
                var grouped: Int32 = -1
                let group: gid_t = geteuid() == 0 ? 65534 : getegid()
                let listener = btcall_listen_at(folder.path + "/socket", 0o660, group, &grouped)
                try #require(listener >= 0)
                defer { close(listener) }
                #expect(folder.mode("socket") == 0o660 && grouped == 0)
                var status = stat()
                #expect(lstat(folder.path + "/socket", &status) == 0 && status.st_gid == group)
                #expect(umask(mask) == mask)
            }
        }
    }
}
