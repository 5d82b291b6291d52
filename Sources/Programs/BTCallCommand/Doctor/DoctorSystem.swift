import BluetoothSockets
import BluetoothTypes
import Configuration
import ControlLoop
import Glibc

/// The machine as the checks see it: files below a directory, and answers of the kernel and the bus.
///
/// A value, collected once and examined by every check. Tests supply their own files and answers.
struct DoctorSystem: Sendable {
    /// The user who runs the program.
    struct User: Equatable, Sendable {
        var id: UInt32
        /// Numbers of all groups.
        var groups: Set<UInt32>
    }

    /// Space of a file system.
    struct Space: Equatable, Sendable {
        var freeBytes: UInt64
        var isReadOnly: Bool
    }

    /// Prefix of every path; empty for the machine's own files.
    let root: String
    var user: User
    var bus: DoctorBus
    var controllers: [ControllerDetails]
    /// Frequencies of connected wireless network interfaces, in MHz.
    var frequencies: [String: Int]
    /// `errno` of opening a Bluetooth socket; 0 when it opens.
    var bluetoothSocketError: Int32 = 0
    /// Process that examines.
    var ownID = Int(getpid())
    /// Space of the file system of a path.
    var space: @Sendable (String) -> Space?
    /// Output of a program; nil when it cannot be run.
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
        // A directory, or a missing or unreadable file: the check decides what that means.
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

    /// The target of a symbolic link, as written there.
    func link(_ path: String) -> String? {
        var bytes = [UInt8](repeating: 0, count: 4096)
        let count = bytes.withUnsafeMutableBytes { bytes in
            bytes.baseAddress.map { readlink(root + path, $0.assumingMemoryBound(to: CChar.self), bytes.count) } ?? -1
        }
        return count > 0 ? String(decoding: bytes[..<count], as: UTF8.self) : nil
    }

    /// The last component of a symbolic link's target.
    func linkName(_ path: String) -> String? { link(path)?.split(separator: "/").last.map { String($0) } }

    /// Owner and mode of a file; nil without one.
    func status(_ path: String) -> stat? {
        var status = stat()
        return stat(root + path, &status) == 0 ? status : nil
    }

    /// The value of `NAME=VALUE` in a file, without quotation marks.
    func variable(_ name: String, in path: String) -> String? {
        for line in lines(path) where line.hasPrefix(name + "=") {
            return line.dropFirst(name.count + 1).filter { $0 != "\"" }
        }
        return nil
    }

    // MARK: Users

    /// The number of a group; nil when there is no such group.
    func group(_ name: String) -> UInt32? {
        for line in lines("/etc/group") {
            let fields = line.split(separator: ":", omittingEmptySubsequences: false)
            if fields.count >= 3, fields[0] == name { return UInt32(fields[2]) }
        }
        return nil
    }

    // MARK: Facts for several checks

    var kernel: String? { text("/proc/sys/kernel/osrelease") }

    /// The kernel's controllers, for example `hci0`.
    var controllerNames: [String] {
        // Leaves out connections such as hci0:11.
        entries("/sys/class/bluetooth").filter { $0.hasPrefix("hci") && !$0.utf8.contains(UInt8(ascii: ":")) }
    }

    /// Version of the program bluetoothd, for example `5.66`.
    var bluetoothdVersion: String? {
        for path in Self.bluetoothdPrograms where exists(path) {
            if let text = output(path, ["--version"])?.split(separator: "\n").first { return String(text) }
        }
        return nil
    }

    private static let bluetoothdPrograms = [
        "/usr/libexec/bluetooth/bluetoothd", "/usr/lib/bluetooth/bluetoothd", "/usr/sbin/bluetoothd",
    ]

    /// The configuration file on btcalld's command line, otherwise the usual one.
    var configurationFile: String {
        if let words = daemon?.arguments, let place = words.firstIndex(of: "--config"), place + 1 < words.count {
            return words[place + 1]
        }
        return "/etc/btcall/btcalld.conf"
    }

    /// The configuration; nil when there is no such file, or it cannot be read.
    var configuration: Configuration? {
        let file = configurationFile
        guard exists(file) else { return nil }
        // Another check reports its errors.
        return try? Configuration(file: root + file)
    }
}
