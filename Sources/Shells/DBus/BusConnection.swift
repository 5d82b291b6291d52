internal import BluetoothTypes
internal import CDBus
package import ControlLoop
internal import Glibc
internal import Logging

package enum ConnectionState: Hashable, Sendable { case connected, disconnected }

/// A private connection to a message bus.
///
/// It stays usable over a restart of the bus: while the bus is away calls fail with `Disconnected` and the connection is
/// retried every second; then subscriptions, watched names, exported objects and requested names are restored. It lives
/// until `close()`.
@ControlPlane
package final class BusConnection {
    static let busName = "org.freedesktop.DBus"
    static let busPath = "/org/freedesktop/DBus"
    private static let retryInterval = Duration.seconds(1)
    private static let helloTimeout = Duration.seconds(5)
    /// Most reads of 2 KiB, and most messages, in one turn: too few would delay all programs on the bus, too many would
    /// delay headsets and timers.
    private static let readsPerTurn = 16
    /// The same for reads that end no message, of which a long message has many.
    private static let partialReadsPerTurn = 64
    private static let messagesPerTurn = 256
    /// Descriptors in messages that were read and not processed; above this, reading pauses. A message has 16 at most, so
    /// that this, one message that is being read and the next one need less than `DescriptorReserve.count`: a descriptor
    /// that cannot be taken ends the connection.
    private static let maximumReceivedDescriptors = 16

    package let address: BusAddress
    package private(set) var uniqueName: String?
    /// Called after each change; not for the connection that `init` makes, nor for `close()`.
    package var onStateChange: (@ControlPlane (ConnectionState) -> Void)?

    /// Called when an attempt found the bus still away; for tests.
    var onFailedAttempt: (@ControlPlane () -> Void)?

    let loop = ControlLoop.shared
    let log = Logger.ofLibrary("btcall.dbus")
    /// libdbus' connection; nil without one.
    private(set) var handle: OpaquePointer?
    /// Counts connections: a reply goes only to the connection that its call came from.
    private(set) var generation = 0
    private var watches: [UInt: DescriptorSource] = [:]
    private var retryTimer: Timer?
    private var isDispatchScheduled = false
    private var isClosed = false

    var pending: [UInt32: PendingCall] = [:]
    var subscriptions: [SignalSubscription] = []
    var names: [String: NameOwner] = [:]
    var requestedNames: [String] = []
    var nameTimers: [String: Timer] = [:]
    var tree = ObjectTree()
    var standard: [ExportedInterface] = []
    var manager: ExportedInterface?
    /// Waiting calls of other programs.
    var waitingCalls = FairQueue<WaitingMessage>(limits: BusConnection.waitingLimits)
    var isTurnScheduled = false
    /// Calls without a reply that each program has started since `spanBegin`.
    var silentCalls: [String: Int] = [:]
    var spanBegin = ControlLoop.now
    var spanTimer: Timer?
    /// By the callers' unique names; idle callers are left out.
    var handlers: [String: RunningHandlers] = [:]
    /// Names whose owners' calls are handled before all others.
    var preferred: [NameOwner] = []
    var lastRefusalNote: Instant?
    /// Who may read confidential properties; nil: everybody.
    package var readers: ConfidentialReaders? {
        didSet { forgetAnswers() }
    }
    var peerCredentials: [String: PeerCredentials] = [:]
    /// In the order of the queries.
    var credentialOrder: [String] = []
    /// By path and kind of reader.
    var managedAnswers: [String: ManagedAnswer] = [:]
    /// How long an object manager reuses an answer.
    var answerAges: [String: Duration] = [:]
    /// Number of received messages.
    private var arrivals: UInt64 = 0

    /// Connects and registers; the only operation that waits for the bus.
    ///
    /// - Throws: `BadAddress`, `NoServer`, `FileNotFound`, `AccessDenied` and the like, as libdbus names them.
    package init(_ address: BusAddress) throws(BusError) {
        self.address = address
        let connection = try Self.open(address)
        do {
            _ = try BusError.check { dbus_bus_register(connection, $0) }
        } catch {
            dbus_connection_close(connection)
            dbus_connection_unref(connection)
            throw error
        }
        makeStandardInterfaces()
        attach(connection)
        uniqueName = dbus_bus_get_unique_name(connection).map { String(cString: $0) }
        log.debug("connected to the bus (\(address)) as \(uniqueName ?? "nobody")")
        scheduleDispatch()
    }

    package var isConnected: Bool { uniqueName != nil }

    /// Ends the connection. Pending calls fail, handlers are no longer called, exported objects are gone.
    package func close() {
        guard !isClosed else { return }
        isClosed = true
        onStateChange = nil
        retryTimer?.cancel()
        spanTimer?.cancel()
        for timer in nameTimers.values { timer.cancel() }
        nameTimers = [:]
        for subscription in subscriptions { subscription.handler = nil }
        subscriptions = []
        for name in names.values {
            for watcher in name.watchers { name.remove(watcher) }
        }
        names = [:]
        requestedNames = []
        detach()
        tree = ObjectTree()
        forgetAnswers()
        standard = []
        manager = nil
    }

    /// Waits until queued messages have left for the bus, at most a second. For the end of a process.
    package func flush() {
        guard let connection = handle else { return }
        dbus_connection_ref(connection)
        defer { dbus_connection_unref(connection) }
        let limit = ControlLoop.now.advanced(by: .seconds(1))
        while dbus_connection_has_messages_to_send(connection) != 0, ControlLoop.now < limit {
            if dbus_connection_read_write(connection, 50) == 0 { return }
        }
    }

    // MARK: Connecting

    private static func open(_ address: BusAddress) throws(BusError) -> OpaquePointer {
        let text = try address.resolved()
        guard let connection = try BusError.check({ dbus_connection_open_private(text, $0) }) else {
            throw .failed("no connection to \(text)")
        }
        dbus_connection_set_exit_on_disconnect(connection, 0)
        return connection
    }

    private func attach(_ connection: OpaquePointer) {
        handle = connection
        generation += 1
        let data = Unmanaged.passUnretained(self).toOpaque()
        guard
            dbus_connection_set_watch_functions(
                connection, Self.addWatch, Self.removeWatch, Self.toggleWatch, data, nil) != 0,
            dbus_connection_add_filter(connection, Self.filter, data, nil) != 0
        else { return log.critical("out of memory: the bus connection does not work") }
        dbus_connection_set_dispatch_status_function(connection, Self.dispatchStatus, data, nil)
        dbus_connection_set_max_received_unix_fds(connection, Self.maximumReceivedDescriptors)
        // libdbus would answer `org.freedesktop.DBus.Peer` itself, ahead of other calls, and even calls without a reply.
        dbus_connection_set_route_peer_messages(connection, 1)
    }

    /// Closes libdbus' connection, if there is one, and fails the pending calls.
    private func detach() {
        guard let connection = handle else { return }
        let data = Unmanaged.passUnretained(self).toOpaque()
        dbus_connection_set_dispatch_status_function(connection, nil, nil, nil)
        dbus_connection_remove_filter(connection, Self.filter, data)
        dbus_connection_set_watch_functions(connection, nil, nil, nil, nil, nil)
        for watch in watches.values { watch.cancel() }
        watches = [:]
        dbus_connection_close(connection)
        dbus_connection_unref(connection)
        handle = nil
        uniqueName = nil
        // The next bus gives the same unique names to other programs.
        waitingCalls = FairQueue(limits: Self.waitingLimits)
        handlers = [:]
        peerCredentials = [:]
        credentialOrder = []
        let failed = pending.values
        pending = [:]
        for call in failed { call.finish(.failure(.disconnected("the connection to the bus was lost"))) }
    }

    private func connectionLost() {
        guard !isClosed, handle != nil else { return }
        let wasConnected = isConnected
        detach()
        for name in names.values { name.forget() }
        if wasConnected {
            log.warning("the connection to the bus was lost; it is retried every second")
            onStateChange?(.disconnected)
        }
        scheduleRetry()
    }

    private func scheduleRetry() {
        guard !isClosed else { return }
        retryTimer?.cancel()
        retryTimer = loop.schedule(after: Self.retryInterval) { self.reconnect() }
    }

    private func reconnect() {
        guard !isClosed, handle == nil else { return }
        do {
            attach(try Self.open(address))
            let hello = try Message.call(Self.busName, Self.busPath, Self.busName, "Hello", [])
            try start(hello, timeout: Self.helloTimeout) { self.registered($0) }
        } catch {
            // Logged once, when the connection was lost: the next attempt follows.
            log.debug("no connection to the bus: \(error)")
            detach()
            scheduleRetry()
            onFailedAttempt?()
        }
    }

    private func registered(_ result: Result<[Value], BusError>) {
        guard !isClosed, let connection = handle else { return }
        guard case .success(let values) = result, let name = values.first?.stringValue,
            dbus_bus_set_unique_name(connection, name) != 0
        else {
            log.debug("the bus does not register us: \(result)")
            return connectionLost()
        }
        uniqueName = name
        log.notice("connected to the bus again, as \(name)")
        restore()
        onStateChange?(.connected)
    }

    // MARK: libdbus' main loop functions

    private static let addWatch: DBusAddWatchFunction = { watch, data in
        BusConnection.enter(data, watch, false) { connection, watch in connection.add(watch) }
    }

    private static let removeWatch: DBusRemoveWatchFunction = { watch, data in
        _ = BusConnection.enter(data, watch, true) { connection, watch in
            connection.watches.removeValue(forKey: UInt(bitPattern: watch))?.cancel()
            return true
        }
    }

    private static let toggleWatch: DBusWatchToggledFunction = { watch, data in
        _ = BusConnection.enter(data, watch, true) { connection, watch in
            connection.watches[UInt(bitPattern: watch)]?.update(BusConnection.interest(of: watch))
            return true
        }
    }

    private static let dispatchStatus: DBusDispatchStatusFunction = { connection, status, data in
        guard status != DBUS_DISPATCH_COMPLETE else { return }
        _ = BusConnection.enter(data, connection, true) { connection, _ in
            connection.scheduleDispatch()
            return true
        }
    }

    private static let filter: DBusHandleMessageFunction = { _, message, data in
        let handled = BusConnection.enter(data, message, false) { connection, message in
            connection.arrivals &+= 1
            return connection.isIdleQuestion(message) || connection.received(Message(sharing: message))
        }
        return handled != 0 ? DBUS_HANDLER_RESULT_HANDLED : DBUS_HANDLER_RESULT_NOT_YET_HANDLED
    }

    /// Leads from a callback of libdbus, which runs on the loop, to its connection.
    private nonisolated static func enter(
        _ data: UnsafeMutableRawPointer?, _ argument: OpaquePointer?, _ otherwise: Bool,
        _ body: @ControlPlane (BusConnection, OpaquePointer) -> Bool
    ) -> dbus_bool_t {
        let data = UInt(bitPattern: data)
        let argument = UInt(bitPattern: argument)
        let result = ControlPlane.assumeIsolated {
            guard let data = UnsafeRawPointer(bitPattern: data), let argument = OpaquePointer(bitPattern: argument)
            else { return otherwise }
            return body(Unmanaged<BusConnection>.fromOpaque(data).takeUnretainedValue(), argument)
        }
        return result ? 1 : 0
    }

    private static func interest(of watch: OpaquePointer) -> Interest {
        guard dbus_watch_get_enabled(watch) != 0 else { return [] }
        let flags = dbus_watch_get_flags(watch)
        var interest: Interest = []
        if flags & DBUS_WATCH_READABLE.rawValue != 0 { interest.insert(.readable) }
        if flags & DBUS_WATCH_WRITABLE.rawValue != 0 { interest.insert(.writable) }
        return interest
    }

    private func add(_ watch: OpaquePointer) -> Bool {
        let key = UInt(bitPattern: watch)
        do {
            watches[key] = try loop.add(dbus_watch_get_unix_fd(watch), Self.interest(of: watch)) { readiness in
                self.ready(key, readiness)
            }
            return true
        } catch {
            log.error("the bus connection cannot be watched: \(error)")
            return false
        }
    }

    private func ready(_ key: UInt, _ readiness: Readiness) {
        let connection = handle
        var (reads, partialReads) = (0, 0)
        while reads < Self.readsPerTurn, partialReads < Self.partialReadsPerTurn {
            let before = arrivals
            handleWatch(key, readiness)
            guard readiness.contains(.readable) else { break }
            guard handle == connection, watches[key] != nil else { return }
            if arrivals != before {
                reads += 1
            } else if Self.hasMore(key) {
                // With a turn for each read, others would wait behind the long messages that one program sends.
                partialReads += 1
            } else {
                break
            }
        }
        runTurn()
    }

    /// Whether the socket of a watch has more bytes to read.
    private static func hasMore(_ key: UInt) -> Bool {
        guard let watch = OpaquePointer(bitPattern: key), dbus_watch_get_enabled(watch) != 0 else { return false }
        var question = pollfd(fd: dbus_watch_get_unix_fd(watch), events: Int16(POLLIN), revents: 0)
        return poll(&question, 1, 0) == 1 && question.revents & Int16(POLLIN) != 0
    }

    private func handleWatch(_ key: UInt, _ readiness: Readiness) {
        guard let watch = OpaquePointer(bitPattern: key) else { return }
        var flags: UInt32 = 0
        if readiness.contains(.readable) { flags |= DBUS_WATCH_READABLE.rawValue }
        if readiness.contains(.writable) { flags |= DBUS_WATCH_WRITABLE.rawValue }
        if readiness.contains(.hangup) { flags |= DBUS_WATCH_HANGUP.rawValue }
        if readiness.contains(.error) { flags |= DBUS_WATCH_ERROR.rawValue }
        // False means out of memory: the descriptor is still ready, so the next turn tries again.
        dbus_watch_handle(watch, flags)
        dispatch()
    }

    private func scheduleDispatch() {
        guard !isDispatchScheduled else { return }
        isDispatchScheduled = true
        loop.perform {
            self.isDispatchScheduled = false
            self.dispatch()
            self.runTurn()
        }
    }

    /// Handles received messages, but not so many that other work must wait.
    private func dispatch() {
        guard let connection = handle else { return }
        dbus_connection_ref(connection)
        defer { dbus_connection_unref(connection) }
        for _ in 0..<Self.messagesPerTurn {
            guard handle == connection else { return }
            switch dbus_connection_get_dispatch_status(connection) {
            case DBUS_DISPATCH_COMPLETE: return
            case DBUS_DISPATCH_DATA_REMAINS: dbus_connection_dispatch(connection)
            default:
                loop.schedule(after: .milliseconds(50)) { self.scheduleDispatch() }
                return
            }
        }
        scheduleDispatch()
    }

    /// - Returns: whether libdbus should do nothing more about the message. Every call gets a reply.
    private func received(_ message: Message) -> Bool {
        switch message.kind {
        case .reply, .error:
            replyArrived(message)
            return true
        case .call:
            callReceived(message)
            return true
        case .signal:
            if message.interface == "org.freedesktop.DBus.Local" {
                if message.member == "Disconnected" { loop.perform { self.connectionLost() } }
            } else {
                signalReceived(message)
            }
            return false
        case .other:
            return false
        }
    }
}
