import BluetoothTypes
import CBluetooth
import ControlLoop
import Glibc

/// Owns one Bluetooth socket and makes its system calls; each failure keeps the name of the call and its `errno`.
struct SocketHandle: ~Copyable, Sendable {
    let descriptor: Int32

    /// - Parameter descriptor: ownership passes to the handle.
    init(owning descriptor: Int32) {
        self.descriptor = descriptor
    }

    deinit { _ = Glibc.close(descriptor) }

    /// Releases the descriptor to the caller, who closes it.
    consuming func take() -> Int32 {
        let descriptor = descriptor
        discard self
        return descriptor
    }

    /// A non-blocking socket for synchronous connections.
    static func synchronous() throws(SystemError) -> SocketHandle {
        let type = Int32(bitPattern: SOCK_SEQPACKET.rawValue | SOCK_NONBLOCK.rawValue | SOCK_CLOEXEC.rawValue)
        let descriptor = socket(AF_BLUETOOTH, type, BTPROTO_SCO)
        guard descriptor >= 0 else { throw SystemError(call: "socket", code: errno) }
        return SocketHandle(owning: descriptor)
    }

    /// - Parameter adapter: the address of the local adapter; nil for any.
    func bind(to adapter: BluetoothAddress?) throws(SystemError) {
        let result = withSocketAddress(of: adapter) { Glibc.bind(descriptor, $0, $1) }
        guard result == 0 else { throw SystemError(call: "bind", code: errno) }
    }

    /// Starts to connect; returns whether the connection is up at once.
    func connect(to peer: BluetoothAddress) throws(SystemError) -> Bool {
        let result = withSocketAddress(of: peer) { Glibc.connect(descriptor, $0, $1) }
        if result == 0 { return true }
        // An interrupted connect continues in the kernel, exactly like one in progress.
        guard errno == EINPROGRESS || errno == EINTR else { throw SystemError(call: "connect", code: errno) }
        return false
    }

    func listen(backlog: Int32) throws(SystemError) {
        guard Glibc.listen(descriptor, backlog) == 0 else { throw SystemError(call: "listen", code: errno) }
    }

    /// The next waiting connection, non-blocking; nil without one.
    func accept() throws(SystemError) -> SocketHandle? {
        while true {
            let accepted = Glibc.accept(descriptor, nil, nil)
            if accepted >= 0 {
                let handle = SocketHandle(owning: accepted)
                try handle.makeNonBlocking()
                return handle
            }
            switch errno {
            case EINTR, ECONNABORTED: continue
            case EAGAIN: return nil
            default: throw SystemError(call: "accept", code: errno)
            }
        }
    }

    func makeNonBlocking() throws(SystemError) {
        try markNonBlocking(descriptor)
    }

    /// Sets what the controller does with the samples: nothing (transparent), or CVSD from 16-bit linear PCM. Possible only
    /// before the connection is set up (`BT_VOICE`).
    func setVoice(_ codec: VoiceCodec) throws(SystemError) {
        let setting: Int32 =
            switch codec {
            case .cvsd: BT_VOICE_CVSD_16BIT
            case .mSBC, .lc3SWB: BT_VOICE_TRANSPARENT
            }
        try setOption(SOL_BLUETOOTH, BT_VOICE, bt_voice(setting: UInt16(truncatingIfNeeded: setting)), "BT_VOICE")
    }

    /// Requests the controller's verdict on each packet (`BT_PKT_STATUS`); false on kernels older than 5.9.
    func enablePacketStatus() -> Bool {
        do throws(SystemError) {
            try setOption(SOL_BLUETOOTH, BT_PKT_STATUS, UInt32(1), "BT_PKT_STATUS")
            return true
        } catch {
            // Not needed to run: loss also shows in sequence numbers and in the decoder.
            return false
        }
    }

    /// Lets us decide when and how an incoming connection is accepted (`BT_DEFER_SETUP`).
    func deferSetup() throws(SystemError) {
        try setOption(SOL_BLUETOOTH, BT_DEFER_SETUP, UInt32(1), "BT_DEFER_SETUP")
    }

    /// Accepts a connection whose set-up was deferred: the first read does this (sco(7)), and returns no data.
    func acceptDeferred() throws(SystemError) {
        var byte: UInt8 = 0
        while Glibc.recv(descriptor, &byte, 1, 0) < 0 {
            switch errno {
            case EINTR: continue
            case EAGAIN: return
            default: throw SystemError(call: "recv", code: errno)
            }
        }
    }

    /// Largest packet that the controller takes, in bytes; 0 if unknown. A hint for the first packet only: received packets show
    /// the real size (docs/inside/Gateway.md, voice link).
    var packetBytesHint: Int {
        var options = sco_options()
        var length = socklen_t(MemoryLayout<sco_options>.size)
        guard getsockopt(descriptor, SOL_SCO, SCO_OPTIONS, &options, &length) == 0 else { return 0 }
        return Int(options.mtu)
    }

    /// Whether the controller has set the link up. A request that waits for our answer has no connection handle yet: the
    /// kernel gives 0, or a number above those of the Core Specification (Vol 4 Part E §5.4.3).
    var isUp: Bool { connectionHandle != nil }

    /// The controller's connection handle; nil without one.
    var connectionHandle: UInt16? {
        var information = sco_conninfo()
        var length = socklen_t(MemoryLayout<sco_conninfo>.size)
        guard getsockopt(descriptor, SOL_SCO, SCO_CONNINFO, &information, &length) == 0 else { return nil }
        return (1...0x0EFF).contains(information.hci_handle) ? information.hci_handle : nil
    }

    var peer: BluetoothAddress? {
        readSocketAddress { getpeername(descriptor, $0, $1) }
    }

    var local: BluetoothAddress? {
        readSocketAddress { getsockname(descriptor, $0, $1) }
    }

    private func setOption<Option: BitwiseCopyable>(
        _ level: Int32, _ name: Int32, _ option: Option, _ text: String
    ) throws(SystemError) {
        let result = withUnsafeBytes(of: option) { bytes in
            setsockopt(descriptor, level, name, bytes.baseAddress, socklen_t(bytes.count))
        }
        guard result == 0 else { throw SystemError(call: "setsockopt \(text)", code: errno) }
    }
}

/// Makes a descriptor non-blocking and closes it on exec.
func markNonBlocking(_ descriptor: Int32) throws(SystemError) {
    let flags = fcntl(descriptor, F_GETFL)
    guard flags >= 0, fcntl(descriptor, F_SETFL, flags | O_NONBLOCK) == 0,
        fcntl(descriptor, F_SETFD, FD_CLOEXEC) == 0
    else { throw SystemError(call: "fcntl", code: errno) }
}

/// The socket's pending error, 0 for none; reading clears it.
func pendingError(of descriptor: Int32) -> Int32 {
    var code: Int32 = 0
    var length = socklen_t(MemoryLayout<Int32>.size)
    guard getsockopt(descriptor, SOL_SOCKET, SO_ERROR, &code, &length) == 0 else { return errno }
    return code
}

/// BlueZ keeps an address in the order of the air: least significant octet first.
private func withSocketAddress<Result>(
    of address: BluetoothAddress?, _ body: (UnsafePointer<sockaddr>, socklen_t) -> Result
) -> Result {
    var name = sockaddr_sco()
    name.sco_family = sa_family_t(AF_BLUETOOTH)
    withUnsafeMutableBytes(of: &name.sco_bdaddr) { bytes in
        let value = address?.value ?? 0
        for index in bytes.indices { bytes[index] = UInt8(truncatingIfNeeded: value >> UInt64(8 * index)) }
    }
    return withUnsafePointer(to: name) { pointer in
        pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
            body($0, socklen_t(MemoryLayout<sockaddr_sco>.size))
        }
    }
}

private func readSocketAddress(
    _ body: (UnsafeMutablePointer<sockaddr>, UnsafeMutablePointer<socklen_t>) -> Int32
) -> BluetoothAddress? {
    var name = sockaddr_sco()
    var length = socklen_t(MemoryLayout<sockaddr_sco>.size)
    let result = withUnsafeMutablePointer(to: &name) { pointer in
        pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { body($0, &length) }
    }
    guard result == 0, Int32(name.sco_family) == AF_BLUETOOTH else { return nil }
    return withUnsafeBytes(of: name.sco_bdaddr) { bytes in
        BluetoothAddress(value: bytes.reversed().reduce(UInt64(0)) { $0 << 8 | UInt64($1) })
    }
}
