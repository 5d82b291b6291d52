package import BluetoothTypes
import CBTCall
import ControlLoop
package import DBus
import Glibc

extension FakeBlueZ {
    /// Connects the profile from a headset in reach, as when it is switched on.
    ///
    /// Sets `Connected`, then hands one end of a socket pair to the program that registered the service.
    ///
    /// - Parameters:
    ///   - service: the service to connect to: the gateway's, or the serial port.
    ///   - version: version of the headset's profile in its service record.
    ///   - features: features in its service record.
    /// - Returns: the headset's end, non-blocking, owned by the caller. The fake keeps a duplicate to cut the link with, so
    ///   hang up with `disconnect`, or `shutdown`, before closing it.
    /// - Throws: `org.bluez.Error.NotAvailable` when nobody registered the service; the program's error.
    package func connect(
        _ address: BluetoothAddress, to service: ServiceUUID = .handsFreeAudioGateway, version: UInt16 = 0x0107,
        features: UInt16 = 0
    ) async throws(BusError) -> Int32 {
        guard let bus, let path = devicePath(address) else { throw bluezError("DoesNotExist", "no such device") }
        guard let profile = profiles.first(where: { $0.uuid == service && !$0.owner.isEmpty }) else {
            throw bluezError("NotAvailable", "br-connection-profile-unavailable")
        }
        let isSerial = service == .serialPort
        guard (isSerial ? serialLinks : links)[address] == nil else {
            throw bluezError("AlreadyConnected", "br-connection-already-connected")
        }
        let (gateway, headset, spare) = try socketPair()
        unreachable.remove(address)
        if isSerial {
            serialLinks[address] = Link(headset: spare, profile: profile)
        } else {
            links[address] = Link(headset: spare, profile: profile)
        }
        setConnected(true, address)
        do throws(BusError) {
            _ = try await bus.call(
                profile.owner, profile.path, FakeBlueZNames.profile, "NewConnection",
                [
                    .objectPath(path), .unixDescriptor(gateway),
                    .vardict(["Version": .uint16(version), "Features": .uint16(features)]),
                ])
        } catch {
            if isSerial, isLinked(address) { cutSerialPort(address) } else { disconnect(address) }
            throw error
        }
        return headset.take()
    }

    /// Hands a program an object as a headset's connection that is not one.
    ///
    /// - Throws: the program's error.
    package func handOver(
        _ descriptor: PassedDescriptor, of address: BluetoothAddress, to service: ServiceUUID = .handsFreeAudioGateway
    ) async throws(BusError) {
        guard let bus, let path = devicePath(address) else { throw bluezError("DoesNotExist", "no such device") }
        guard let profile = profiles.first(where: { $0.uuid == service && !$0.owner.isEmpty }) else {
            throw bluezError("NotAvailable", "br-connection-profile-unavailable")
        }
        _ = try await bus.call(
            profile.owner, profile.path, FakeBlueZNames.profile, "NewConnection",
            [.objectPath(path), .unixDescriptor(descriptor), .vardict([:])])
    }

    /// Disconnects the headset in order, as when it is switched off: both ends are closed, `Connected` is false at once.
    package func disconnect(_ address: BluetoothAddress) {
        cut(address)
        dropMedia(of: address)
        dropNotifications(of: address)
        setConnected(false, address)
    }

    /// Lets the headset die silently: its connection stays open without data, and only after the supervision timeout the
    /// ends are closed and `Connected` is false.
    ///
    /// - Parameter delay: the kernel's default is 20 s.
    package func vanish(_ address: BluetoothAddress, noticedAfter delay: Duration) {
        unreachable.insert(address)
        ControlLoop.shared.schedule(after: delay) { [weak self] in
            guard let self, unreachable.contains(address) else { return }
            disconnect(address)
        }
    }

    /// Sets whether a request to connect finds the headset.
    package func setReachable(_ reachable: Bool, _ address: BluetoothAddress) {
        if reachable { unreachable.remove(address) } else { unreachable.insert(address) }
    }

    /// Whether the profile of this headset is connected, as far as the fake knows.
    package func isLinked(_ address: BluetoothAddress) -> Bool { links[address] != nil }

    /// Whether the serial port of this device is connected.
    package func isSerialLinked(_ address: BluetoothAddress) -> Bool { serialLinks[address] != nil }

    /// Disconnects the headset for the user: asks the program first, then closes everything.
    package func requestDisconnection(_ address: BluetoothAddress) async {
        await releaseProfile(address)
        await releaseSerialPort(address)
        disconnect(address)
    }

    /// Disconnects the profile only, as another program does: asks the program, then closes the connection. The radio link
    /// stays.
    package func releaseProfile(_ address: BluetoothAddress) async {
        await announceEnd(of: links[address], address)
        cutProfile(address)
    }

    /// The same for the serial port.
    package func releaseSerialPort(_ address: BluetoothAddress) async {
        await announceEnd(of: serialLinks[address], address)
        cutSerialPort(address)
    }

    private func announceEnd(of link: Link?, _ address: BluetoothAddress) async {
        guard let bus, let link, let path = devicePath(address) else { return }
        // An error does not keep bluetoothd from disconnecting.
        _ = try? await bus.call(
            link.profile.owner, link.profile.path, FakeBlueZNames.profile, "RequestDisconnection", [.objectPath(path)])
    }

    func cut(_ address: BluetoothAddress) {
        cutProfile(address)
        cutSerialPort(address)
    }

    private func cutProfile(_ address: BluetoothAddress) {
        guard let link = links.removeValue(forKey: address) else { return }
        _ = shutdown(link.headset.descriptor, Int32(SHUT_RDWR))
    }

    /// Closes the serial port alone, as when its device ends it.
    package func cutSerialPort(_ address: BluetoothAddress) {
        guard let link = serialLinks.removeValue(forKey: address) else { return }
        _ = shutdown(link.headset.descriptor, Int32(SHUT_RDWR))
    }

    func bluezError(_ name: String, _ message: String) -> BusError {
        BusError(name: FakeBlueZNames.error + name, message: message)
    }

    private func socketPair() throws(BusError) -> (
        gateway: PassedDescriptor, headset: PassedDescriptor, spare: PassedDescriptor
    ) {
        var ends: [Int32] = [-1, -1]
        let type = Int32(bitPattern: SOCK_STREAM.rawValue | SOCK_NONBLOCK.rawValue | SOCK_CLOEXEC.rawValue)
        guard socketpair(AF_UNIX, type, 0, &ends) == 0 else {
            throw .failed("\(SystemError(call: "socketpair", code: errno))")
        }
        if var size = outputBuffer {
            _ = setsockopt(ends[0], SOL_SOCKET, SO_SNDBUF, &size, socklen_t(MemoryLayout<Int32>.size))
        }
        let (gateway, headset) = (PassedDescriptor(taking: ends[0]), PassedDescriptor(taking: ends[1]))
        do throws(SystemError) {
            return (gateway, headset, try PassedDescriptor(duplicating: ends[1]))
        } catch {
            throw .failed("\(error)")
        }
    }
}
