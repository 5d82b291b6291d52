import BluetoothSockets
import ControlLoop
import DBus
import Glibc

extension DoctorSystem {
    /// Examines this machine.
    ///
    /// - Parameters:
    ///   - root: prefix of every path, for tests; empty for the machine's own files.
    ///   - bus: the bus of bluetoothd and btcalld.
    @ControlPlane
    static func machine(root: String = "", bus address: BusAddress) async -> DoctorSystem {
        var system = DoctorSystem(
            root: root, user: .own, bus: await DoctorBus.read(address), controllers: ControllerDetails.all(),
            frequencies: [:], space: { fileSystem(of: root + $0) }, output: { ProgramOutput.text(of: root + $0, $1) })
        system.bluetoothSocketError = bluetoothSocketError()
        for interface in system.entries("/sys/class/net") {
            system.frequencies[interface] = frequency(of: interface)
        }
        return system
    }

    private static func bluetoothSocketError() -> Int32 {
        // AF_BLUETOOTH; a sequence of voice packets (BTPROTO_SCO), which connects to nobody.
        let descriptor = socket(31, Int32(SOCK_SEQPACKET.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 2)
        guard descriptor >= 0 else { return errno }
        close(descriptor)
        return 0
    }

    private static func fileSystem(of path: String) -> Space? {
        var result = statvfs()
        guard statvfs(path, &result) == 0 else { return nil }
        return Space(
            freeBytes: UInt64(result.f_bavail) * UInt64(result.f_frsize),
            isReadOnly: result.f_flag & UInt(ST_RDONLY) != 0)
    }

    /// Frequency in MHz by the wireless extensions; nil when it is not a wireless interface, or not connected.
    private static func frequency(of interface: String) -> Int? {
        let descriptor = socket(AF_INET, Int32(SOCK_DGRAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
        guard descriptor >= 0 else { return nil }
        defer { close(descriptor) }
        // struct iwreq: the name; a mantissa of 32 bits and an exponent of 16 (SIOCGIWFREQ).
        var request = [UInt8](repeating: 0, count: 32)
        for (place, byte) in interface.utf8.prefix(15).enumerated() { request[place] = byte }
        let result = request.withUnsafeMutableBytes { bytes in
            bytes.baseAddress.map { ioctl(descriptor, 0x8B05, $0) } ?? -1
        }
        return result == 0 ? megahertz(request) : nil
    }

    /// Returns nil for a channel number, which some drivers report instead.
    static func megahertz(_ request: [UInt8]) -> Int? {
        guard request.count >= 22 else { return nil }
        let mantissa = request[16..<20].reversed().reduce(UInt32(0)) { $0 << 8 | UInt32($1) }
        let exponent = Int(Int16(bitPattern: UInt16(request[20]) | UInt16(request[21]) << 8))
        guard (0...9).contains(exponent) else { return nil }
        var hertz = UInt64(mantissa)
        for _ in 0..<exponent { hertz *= 10 }
        return hertz > 100_000_000 ? Int(hertz / 1_000_000) : nil
    }
}

extension DoctorSystem.User {
    /// The user of this process.
    static var own: DoctorSystem.User {
        var groups = [gid_t](repeating: 0, count: 1024)
        let count = getgroups(Int32(groups.count), &groups)
        return DoctorSystem.User(id: geteuid(), groups: Set(groups.prefix(max(0, Int(count))) + [getegid()]))
    }
}
