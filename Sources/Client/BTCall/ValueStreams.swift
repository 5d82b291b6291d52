import BTCallAPI
import ControlLoop
import DBus

// What the daemon says of itself as a value that changes: a stream begins with what it is now.
extension CallBridge {
    /// Whether calls get audio under external call control: ``Session/isActive()`` now, then each change.
    ///
    /// As with every stream of values, the present value comes first, whenever the stream begins; without the daemon the first one
    /// comes when the daemon does. A value that is like the one before is not repeated, also not after a restart of the daemon.
    /// Each stream has its own copy; one that is not read keeps the newest 64 values. It ends with ``close()``.
    public func audioSessionActivated() async -> AsyncStream<Bool> {
        let session = session
        return await connection.values(at: BTCallPath.session) { _ throws(BridgeError) in
            try await session.isActive()
        } change: { event in
            guard case .settingChanged(name: "sessionActive", let value) = event else { return nil }
            return value == "true"
        }
    }
}

extension AudioDeviceManager {
    /// ``audioDevices()`` now, then each change, as ``CallBridge/audioSessionActivated()`` has it.
    public func devices() async -> AsyncStream<[AudioDevice]> {
        let manager = self
        return await connection.values(at: BTCallPath.router) { _ throws(BridgeError) in
            try await manager.audioDevices()
        } change: { event in
            if case .devicesChanged(let devices) = event { devices } else { nil }
        }
    }

    /// ``activeRoute()`` now, then each change, as ``CallBridge/audioSessionActivated()`` has it.
    public func routes() async -> AsyncStream<DeviceChoice> {
        let manager = self
        return await connection.values(at: BTCallPath.router) { _ throws(BridgeError) in
            try await manager.activeRoute()
        } change: { event in
            if case .routeChanged(_, let new, _) = event { new } else { nil }
        }
    }
}

extension Calls {
    /// ``isMuted()`` now, then each change, as ``CallBridge/audioSessionActivated()`` has it.
    public func mutedStates() async -> AsyncStream<Bool> {
        let calls = self
        return await connection.values(at: BTCallPath.calls) { _ throws(BridgeError) in
            try await calls.isMuted()
        } change: { event in
            if case .mutedChanged(let isMuted) = event { isMuted } else { nil }
        }
    }

    /// ``list()`` now, then after each change, of whatever a ``Call`` has; changes that follow quickly may come as one.
    public func lists() async -> AsyncStream<[Call]> {
        await connection.values(at: BTCallPath.calls) { connection throws(BridgeError) in
            .value(try await connection.callList())
        } change: { _ in
            .unknown
        }
    }

    /// The state of one call now, then each change. The stream ends after `.ended`, and at once when there is no such call.
    public func states(of call: Call.ID) async -> AsyncStream<Call.State> {
        await connection.values(at: BTCallPath.calls) { connection throws(BridgeError) in
            let present = try await connection.callList().first { $0.id == call }
            return present.map { .value($0.state) } ?? .over
        } change: { signal in
            for event in BridgeEvent.events(of: signal) {
                switch event {
                case .callStateChanged(call, let state, _): return .value(state)
                case .callRemoved(call, _): return .over
                default: continue
                }
            }
            return .same
        }
    }
}

/// What is known of a value after something was said.
enum ValueReading<Element: Equatable & Sendable>: Sendable {
    case value(Element)
    /// It may be another one: the daemon is asked.
    case unknown
    /// Nothing was said about it.
    case same
    /// There will be no other.
    case over
}

extension BridgeConnection {
    /// A stream of the values of something, the present one first.
    ///
    /// - Parameters:
    ///   - path: what is signalled by this object and those below is looked at.
    ///   - absent: what it is while there is no daemon; nil: then the stream has nothing.
    ///   - read: asks the daemon for the present value.
    ///   - change: what a signal says of it.
    func values<Element: Equatable & Sendable>(
        at path: String, absent: Element? = nil,
        read: @escaping @ControlPlane (BridgeConnection) async throws(BridgeError) -> ValueReading<Element>,
        change: @escaping @ControlPlane (BusSignal) -> ValueReading<Element>
    ) -> AsyncStream<Element> {
        let (stream, continuation) = AsyncStream.makeStream(of: Element.self, bufferingPolicy: .bufferingNewest(64))
        let source = ValueSource(on: self, at: path, continuation, absent: absent, read: read, change: change)
        continuation.onTermination = { _ in
            Task { @ControlPlane in source.cancel() }
        }
        add(source)
        return stream
    }

    /// The same for a value that an event carries.
    func values<Element: Equatable & Sendable>(
        at path: String, absent: Element? = nil,
        read: @escaping @ControlPlane (BridgeConnection) async throws(BridgeError) -> Element,
        change: @escaping @ControlPlane (BridgeEvent) -> Element?
    ) -> AsyncStream<Element> {
        values(at: path, absent: absent) { connection throws(BridgeError) in
            .value(try await read(connection))
        } change: { signal in
            BridgeEvent.events(of: signal).compactMap(change).last.map { .value($0) } ?? .same
        }
    }
}

/// What feeds one stream of values: a question when the daemon is seen, then its signals.
@ControlPlane
private final class ValueSource<Element: Equatable & Sendable>: StreamSource {
    private let continuation: AsyncStream<Element>.Continuation
    private weak var connection: BridgeConnection?
    private let absent: Element?
    private let read: @ControlPlane (BridgeConnection) async throws(BridgeError) -> ValueReading<Element>
    private let change: @ControlPlane (BusSignal) -> ValueReading<Element>
    private var subscriptions: [Subscription] = []
    /// Nil: not known yet.
    private var owner: String??
    private var last: Element?
    private var isAsking = false
    /// Whether the answer that is awaited is of yesterday: of another daemon, or before something changed.
    private var mustAskAgain = false
    /// The last that was signalled while an answer was awaited: the answer may be older than it, and is never newer without
    /// being the same.
    private var held: ValueReading<Element>?
    private(set) var isCancelled = false

    init(
        on connection: BridgeConnection, at path: String, _ continuation: AsyncStream<Element>.Continuation,
        absent: Element?,
        read: @escaping @ControlPlane (BridgeConnection) async throws(BridgeError) -> ValueReading<Element>,
        change: @escaping @ControlPlane (BusSignal) -> ValueReading<Element>
    ) {
        self.continuation = continuation
        self.connection = connection
        self.absent = absent
        self.read = read
        self.change = change
        let bus = connection.connection
        subscriptions = [
            bus.subscribe(sender: BTCallName.bus, pathNamespace: path) { [weak self] signal in self?.received(signal) },
            bus.watchName(BTCallName.bus) { [weak self] owner in self?.ownerChanged(owner) },
        ]
    }

    func cancel() {
        guard !isCancelled else { return }
        isCancelled = true
        for subscription in subscriptions { subscription.cancel() }
        subscriptions = []
        continuation.finish()
    }

    private func ownerChanged(_ owner: String?) {
        guard self.owner != .some(owner) else { return }
        self.owner = .some(owner)
        held = nil
        if owner != nil { ask() } else if let absent { take(.value(absent)) }
    }

    private func ask() {
        mustAskAgain = isAsking
        guard !isAsking, let connection else { return }
        isAsking = true
        Task { @ControlPlane [weak self] in
            // A daemon that does not answer has gone: the next one is asked.
            let answer = try? await self?.read(connection)
            self?.answered(answer)
        }
    }

    private func answered(_ answer: ValueReading<Element>?) {
        guard !isCancelled else { return }
        isAsking = false
        let later = held
        held = nil
        guard !mustAskAgain else { return ask() }
        guard owner != .some(nil) else { return }
        if let answer { take(answer) }
        if let later { take(later) }
    }

    private func received(_ signal: BusSignal) {
        let reading = change(signal)
        switch reading {
        case .value, .over:
            if isAsking { held = reading } else { take(reading) }
        case .unknown: ask()
        case .same: break
        }
    }

    private func take(_ reading: ValueReading<Element>) {
        switch reading {
        case .value(let value):
            guard value != last, !isCancelled else { return }
            last = value
            continuation.yield(value)
        case .over: cancel()
        case .unknown, .same: break
        }
    }
}
