package import BluetoothTypes
import CBluetooth
package import ControlLoop
import Glibc

/// Reports why radio links end, which bluetoothd before 5.82 does not.
///
/// The kernel's management interface gives the reason only to processes with CAP_NET_ADMIN. A raw socket of a controller
/// gives connection events to every process (`hci_sec_filter` in the kernel), so that this needs no privilege.
@ControlPlane
package final class RadioLinkMonitor {
    /// Called with the device and the controller's reason.
    package var onEnd: (@ControlPlane (BluetoothAddress, UInt8) -> Void)?

    private struct Watch {
        let descriptor: Int32
        let source: DescriptorSource
        var links: RadioLinks
    }

    private static let filterOption: Int32 = 2
    /// HCIGETCONNLIST: _IOR('H', 212, int).
    private static let getConnections: UInt = 0x8004_48D4
    /// Most links that are listed when a controller is opened.
    private static let listed = 32

    private var watches: [String: Watch] = [:]

    package init() {}

    /// Watches exactly these controllers.
    ///
    /// - Parameter controllers: `hci0`.
    /// - Returns: the kernel's error for each controller that cannot be watched.
    package func follow(_ controllers: [String]) -> [String: SystemError] {
        for name in watches.keys.sorted() where !controllers.contains(name) { leave(name) }
        var failures: [String: SystemError] = [:]
        for name in controllers where watches[name] == nil {
            do throws(SystemError) {
                watches[name] = try open(name)
            } catch {
                failures[name] = error
            }
        }
        return failures
    }

    package func stop() {
        onEnd = nil
        for name in watches.keys.sorted() { leave(name) }
    }

    isolated deinit { stop() }

    private func leave(_ name: String) {
        guard let watch = watches.removeValue(forKey: name) else { return }
        watch.source.cancel()
        close(watch.descriptor)
    }

    private func open(_ name: String) throws(SystemError) -> Watch {
        guard name.hasPrefix("hci"), let index = UInt16(name.dropFirst(3)) else {
            throw SystemError(call: "open \(name)", code: ENODEV)
        }
        let type = Int32(SOCK_RAW.rawValue | SOCK_CLOEXEC.rawValue | SOCK_NONBLOCK.rawValue)
        let descriptor = socket(AF_BLUETOOTH, type, BTPROTO_HCI)
        guard descriptor >= 0 else { throw SystemError(call: "socket", code: errno) }
        do throws(SystemError) {
            try Self.filter(descriptor)
            try Self.bind(descriptor, to: index)
            var links = RadioLinks()
            links.addList(Self.list(descriptor, index))
            let source = try ControlLoop.shared.add(descriptor, .readable) { [weak self] _ in self?.read(name) }
            return Watch(descriptor: descriptor, source: source, links: links)
        } catch {
            close(descriptor)
            throw error
        }
    }

    /// Accepts only events about connections (struct hci_filter, in the machine's byte order).
    private static func filter(_ descriptor: Int32) throws(SystemError) {
        let filter: [UInt32] = [1 << 4, 1 << 3 | 1 << 5, 0, 0]
        let result = filter.withUnsafeBytes {
            setsockopt(descriptor, 0, filterOption, $0.baseAddress, socklen_t($0.count))
        }
        guard result == 0 else { throw SystemError(call: "setsockopt HCI_FILTER", code: errno) }
    }

    private static func bind(_ descriptor: Int32, to index: UInt16) throws(SystemError) {
        // struct sockaddr_hci: the family, the controller, the raw channel.
        let address: [UInt16] = [UInt16(AF_BLUETOOTH), index, 0]
        let result = address.withUnsafeBytes { bytes -> Int32 in
            guard let start = bytes.baseAddress else { return -1 }
            return Glibc.bind(descriptor, start.assumingMemoryBound(to: sockaddr.self), socklen_t(bytes.count))
        }
        guard result == 0 else { throw SystemError(call: "bind", code: errno) }
    }

    /// Present links; empty if the kernel does not list them, in which case only later links are known.
    private static func list(_ descriptor: Int32, _ index: UInt16) -> [UInt8] {
        var bytes = [UInt8](repeating: 0, count: 4 + 16 * listed)
        bytes[0] = UInt8(truncatingIfNeeded: index)
        bytes[1] = UInt8(index >> 8)
        bytes[2] = UInt8(listed)
        let result = bytes.withUnsafeMutableBytes { buffer -> Int32 in
            guard let start = buffer.baseAddress else { return -1 }
            return ioctl(descriptor, getConnections, start)
        }
        return result == 0 ? bytes : []
    }

    private func read(_ name: String) {
        guard let descriptor = watches[name]?.descriptor else { return }
        var bytes = [UInt8](repeating: 0, count: 264)
        // A bounded number at once: the loop calls again for the rest.
        for _ in 0..<64 {
            let count = recv(descriptor, &bytes, bytes.count, 0)
            if count < 0, errno == EINTR { continue }
            if count < 0, errno == EAGAIN { return }
            // The controller has gone; it is opened again when it is back.
            guard count > 0 else { return leave(name) }
            if let end = watches[name]?.links.received(Array(bytes[..<count])) { onEnd?(end.address, end.reason) }
            guard watches[name]?.descriptor == descriptor else { return }
        }
    }
}
