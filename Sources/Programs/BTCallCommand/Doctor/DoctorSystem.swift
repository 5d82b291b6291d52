import BluetoothSockets
import BluetoothTypes
import Configuration
import ControlLoop
import Glibc

/// The machine as the checks see it: files below a directory, what the kernel and the bus have answered.
///
/// A value: asked for once, then looked at by every check. Tests give it files and answers of their own.
struct DoctorSystem: Sendable {
    /// Who runs the program.
    struct User: Equatable, Sendable {
        var id: UInt32
        /// Numbers of all groups.
        var groups: Set<UInt32>
    }

    /// A file system.
    struct Space: Equatable, Sendable {
        var freeBytes: UInt64
        var isReadOnly: Bool
    }

    /// Put in front of every path; empty: the machine's own files.
    let root: String
    var user: User
    var bus: DoctorBus
    var controllers: [ControllerDetails]
    /// Of wireless network interfaces that are connected, in MHz.
    var frequencies: [String: Int]
    /// Of the file system that a path is in.
    var space: @Sendable (String) -> Space?
    /// What a program prints when it is run; nil when it cannot be.
    var output: @Sendable (_ program: String, _ arguments: [String]) -> String?

    init(
        root: String, user: User, bus: DoctorBus, controllers: [ControllerDetails], frequencies: [String: Int],
        space: @escaping @Sendable (String) -> Space?,
        output: @escaping @Sendable (_ program: String, _ arguments: [String]) -> String?
    ) {
        self.root = root
        self.user = user
        self.bus = bus
        self.controllers = controllers
        self.frequencies = frequencies
        self.space = space
        self.output = output
    }

    // MARK: Files

    /// A file's text without white space at its ends; nil if it cannot be read.
    func text(_ path: String) -> String? {
        bytes(path).map { bytes in
            let text = String(decoding: bytes, as: UTF8.self)
            return String(text.drop { $0.isWhitespace }.reversed().drop { $0.isWhitespace }.reversed())
        }
    }

    /// The lines of a file; empty if it cannot be read.
    func lines(_ path: String) -> [Substring] {
        text(path)?.split(separator: "\n") ?? []
    }

    /// At most a megabyte.
    func bytes(_ path: String) -> [UInt8]? {
        // A directory, a file that is not there or that the kernel refuses: a check says what that means.
        try? ForeignFile.read(root + path, atMost: 1 << 20, .leftOut)
    }

    func exists(_ path: String) -> Bool { access(root + path, F_OK) == 0 }

    /// The names in a directory, sorted; empty if it cannot be read.
    func entries(_ path: String) -> [String] {
        guard let directory = opendir(root + path) else { return [] }
        defer { closedir(directory) }
        var names: [String] = []
        while let entry = readdir(directory) {
            let name = withUnsafePointer(to: &entry.pointee.d_name) { pointer in
                pointer.withMemoryRebound(to: CChar.self, capacity: 256) { String(cString: $0) }
            }
            if name != "." && name != ".." { names.append(name) }
        }
        return names.sorted()
    }

    /// What a symbolic link points to, as it is written there.
    func link(_ path: String) -> String? {
        var bytes = [UInt8](repeating: 0, count: 4096)
        let count = bytes.withUnsafeMutableBytes { bytes in
            bytes.baseAddress.map { readlink(root + path, $0.assumingMemoryBound(to: CChar.self), bytes.count) } ?? -1
        }
        return count > 0 ? String(decoding: bytes[..<count], as: UTF8.self) : nil
    }

    /// The last component of what a symbolic link points to.
    func linkName(_ path: String) -> String? { link(path)?.split(separator: "/").last.map { String($0) } }

    /// Who may do what with a file; nil if there is none.
    func status(_ path: String) -> stat? {
        var status = stat()
        return stat(root + path, &status) == 0 ? status : nil
    }

    /// What `NAME=VALUE` says in a file; without quotation marks.
    func variable(_ name: String, in path: String) -> String? {
        for line in lines(path) where line.hasPrefix(name + "=") {
            return line.dropFirst(name.count + 1).filter { $0 != "\"" }
        }
        return nil
    }

    // MARK: Users

    /// The number of a group; nil if there is none of that name.
    func group(_ name: String) -> UInt32? {
        for line in lines("/etc/group") {
            let fields = line.split(separator: ":", omittingEmptySubsequences: false)
            if fields.count >= 3, fields[0] == name { return UInt32(fields[2]) }
        }
        return nil
    }

    // MARK: What many checks ask

    var kernel: String? { text("/proc/sys/kernel/osrelease") }

    /// Where the kernel has controllers: `hci0`.
    var controllerNames: [String] {
        // A connection is there as well: hci0:11.
        entries("/sys/class/bluetooth").filter { $0.hasPrefix("hci") && !$0.utf8.contains(UInt8(ascii: ":")) }
    }

    /// The version of bluetoothd's program: `5.66`.
    var bluetoothdVersion: String? {
        for path in Self.bluetoothdPrograms where exists(path) {
            if let text = output(path, ["--version"])?.split(separator: "\n").first { return String(text) }
        }
        return nil
    }

    private static let bluetoothdPrograms = [
        "/usr/libexec/bluetooth/bluetoothd", "/usr/lib/bluetooth/bluetoothd", "/usr/sbin/bluetoothd",
    ]

    /// The file that btcalld reads, as its command line says; else the usual one.
    var configurationFile: String {
        if let words = daemon?.arguments, let place = words.firstIndex(of: "--config"), place + 1 < words.count {
            return words[place + 1]
        }
        return "/etc/btcall/btcalld.conf"
    }

    /// What is in it; nil where there is no such file, or one that is not understood.
    var configuration: Configuration? {
        let file = configurationFile
        guard exists(file) else { return nil }
        // What is wrong with it is a check's business.
        return try? Configuration(file: root + file)
    }
}
