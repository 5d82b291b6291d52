import BluetoothTypes
package import ControlLoop
import Glibc

/// Reports when entries of a directory come, go or change their permissions, after they have settled. No polling.
///
/// The directory itself may come and go: `/dev/snd` exists only while there is a card. Until it exists, the nearest
/// directory above it is watched.
@ControlPlane
package final class DirectoryWatch {
    private struct Place {
        let identifier: Int32
        /// The awaited entry on the way to the directory; nil when the directory itself is watched.
        let awaited: String?
    }

    private static let entryEvents = UInt32(IN_CREATE | IN_DELETE | IN_ATTRIB | IN_MOVED_TO | IN_MOVED_FROM)
    private static let wayEvents = UInt32(IN_CREATE | IN_MOVED_TO)
    private static let ownEvents = UInt32(IN_DELETE_SELF | IN_MOVE_SELF | IN_ONLYDIR)
    private static let endEvents = UInt32(IN_DELETE_SELF | IN_MOVE_SELF | IN_IGNORED | IN_Q_OVERFLOW)

    private let path: String
    private let settling: Duration
    private let isWanted: @ControlPlane (String) -> Bool
    private let handler: @ControlPlane () -> Void
    private var descriptor: Int32
    private var source: DescriptorSource?
    private var place: Place?
    private var timer: Timer?
    private var changedSince: Instant?

    /// - Parameters:
    ///   - path: absolute.
    ///   - settling: required quiet time: udev sets permissions after the kernel has made a node. A directory that is never
    ///     quiet is reported after ten times as long.
    ///   - isWanted: filter by the name of an entry.
    ///   - handler: something has changed; the handler looks up what.
    /// - Throws: what the kernel refuses, such as `EMFILE` at the user's limit of watches.
    package init(
        _ path: String, settling: Duration, isWanted: @escaping @ControlPlane (String) -> Bool,
        onChange handler: @escaping @ControlPlane () -> Void
    ) throws(SystemError) {
        self.path = path
        self.settling = settling
        self.isWanted = isWanted
        self.handler = handler
        descriptor = inotify_init1(Int32(IN_NONBLOCK) | Int32(IN_CLOEXEC))
        guard descriptor >= 0 else { throw SystemError("inotify_init1") }
        do throws(SystemError) {
            try choosePlace()
            source = try ControlLoop.shared.add(descriptor, .readable) { [weak self] _ in self?.read() }
        } catch {
            cancel()
            throw error
        }
    }

    isolated deinit { cancel() }

    /// Ends the watch; the handler is not called any more.
    package func cancel() {
        timer?.cancel()
        timer = nil
        source?.cancel()
        source = nil
        guard descriptor >= 0 else { return }
        Glibc.close(descriptor)
        descriptor = -1
    }

    // MARK: Place

    /// Watches the directory, or the nearest existing one above it.
    private func choosePlace() throws(SystemError) {
        if let place { inotify_rm_watch(descriptor, place.identifier) }
        place = nil
        // A directory may come or go between two calls: retry a limited number of times.
        for _ in 0..<16 {
            let (target, awaited) = nearest()
            let events = (awaited == nil ? Self.entryEvents : Self.wayEvents) | Self.ownEvents
            let identifier = inotify_add_watch(descriptor, target, events)
            guard identifier >= 0 else {
                if errno == ENOENT || errno == ENOTDIR { continue }
                throw SystemError("inotify_add_watch")
            }
            place = Place(identifier: identifier, awaited: awaited)
            guard nearest().target != target else { return }
            inotify_rm_watch(descriptor, identifier)
            place = nil
        }
        throw SystemError(call: "inotify_add_watch", code: EAGAIN)
    }

    private func nearest() -> (target: String, awaited: String?) {
        var target = path[...]
        var awaited: String?
        while target != "/", !Self.isDirectory(String(target)) {
            let slash = target.lastIndex(of: "/") ?? target.startIndex
            awaited = String(target[target.index(after: slash)...])
            target = slash == target.startIndex ? "/" : target[..<slash]
        }
        return (String(target), awaited)
    }

    private static func isDirectory(_ path: String) -> Bool {
        var status = stat()
        return stat(path, &status) == 0 && status.st_mode & S_IFMT == S_IFDIR
    }

    // MARK: Events

    private func read() {
        var buffer = [UInt8](repeating: 0, count: 4096)
        while descriptor >= 0 {
            let count = Glibc.read(descriptor, &buffer, buffer.count)
            if count < 0, errno == EINTR { continue }
            guard count > 0 else { return }
            received(buffer[0..<count])
        }
    }

    /// - Parameter bytes: whole `struct inotify_event`s: watch, mask, cookie and the length of the name, then the name.
    private func received(_ bytes: ArraySlice<UInt8>) {
        var rest = bytes
        while rest.count >= 16 {
            let (watch, mask, length) = rest.withUnsafeBytes { raw in
                (
                    raw.loadUnaligned(fromByteOffset: 0, as: Int32.self),
                    raw.loadUnaligned(fromByteOffset: 4, as: UInt32.self),
                    Int(raw.loadUnaligned(fromByteOffset: 12, as: UInt32.self))
                )
            }
            let name = rest.dropFirst(16).prefix(length).prefix { $0 != 0 }
            handleEvent(watch: watch, mask: mask, name: String(decoding: name, as: UTF8.self))
            rest = rest.dropFirst(16 + length)
        }
    }

    private func handleEvent(watch: Int32, mask: UInt32, name: String) {
        if mask & UInt32(IN_Q_OVERFLOW) == 0 {
            // The event belongs to a place that was left.
            guard let place, watch == place.identifier else { return }
            if mask & Self.endEvents == 0 {
                if let awaited = place.awaited {
                    if name == awaited { move() }
                } else if isWanted(name) {
                    noteChange()
                }
                return
            }
        }
        move()
    }

    /// Handles that the directory or the way to it has come or gone.
    private func move() {
        do throws(SystemError) {
            try choosePlace()
        } catch {
            // No more events come from now on; the change reported next is the last of this watch.
            cancelSource()
        }
        noteChange()
    }

    private func cancelSource() {
        source?.cancel()
        source = nil
    }

    private func noteChange() {
        let now = ControlLoop.now
        let since = changedSince ?? now
        changedSince = since
        timer?.cancel()
        timer = ControlLoop.shared.schedule(at: min(now.advanced(by: settling), since.advanced(by: settling * 10))) {
            [weak self] in
            guard let self else { return }
            timer = nil
            changedSince = nil
            handler()
        }
    }
}
