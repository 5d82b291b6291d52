import BTCallAPI
import ControlLoop
import DBus

// Changing values of the daemon as streams; a stream begins with the present value.
extension CallBridge {
    /// Whether calls get audio under external call control: ``Session/isActive()`` now, then each change.
    ///
    /// As with every stream of values, the present value comes first, whenever the stream begins; without the daemon, the
    /// first value comes when the daemon appears. A value equal to the previous one is not repeated, also not after a
    /// restart of the daemon. Each stream has its own copy; a stream that is not read keeps the newest 64 values. It ends
    /// with ``close()``.
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
    /// ``audioDevices()`` now, then each change; otherwise as ``CallBridge/audioSessionActivated()``.
    public func devices() async -> AsyncStream<[AudioDevice]> {
        let manager = self
        return await connection.values(at: BTCallPath.router) { _ throws(BridgeError) in
            try await manager.audioDevices()
        } change: { event in
            if case .devicesChanged(let devices) = event { devices } else { nil }
        }
    }

    /// ``activeRoute()`` now, then each change; otherwise as ``CallBridge/audioSessionActivated()``.
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
    /// ``isMuted()`` now, then each change; otherwise as ``CallBridge/audioSessionActivated()``.
    public func mutedStates() async -> AsyncStream<Bool> {
        let calls = self
        return await connection.values(at: BTCallPath.calls) { _ throws(BridgeError) in
            try await calls.isMuted()
        } change: { event in
            if case .mutedChanged(let isMuted) = event { isMuted } else { nil }
        }
    }

    /// ``list()`` now, then after each change of any property of a ``Call``; changes in quick succession may be combined.
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

/// Effect of a signal on the knowledge of a value.
enum ValueReading<Element: Equatable & Sendable>: Sendable {
    case value(Element)
    /// The value may have changed: ask the daemon.
    case unknown
    /// The signal does not concern the value.
    case same
    /// The value will not change any more.
    case over
}

extension BridgeConnection {
    /// A stream of the values of a property, the present one first.
    ///
    /// - Parameters:
    ///   - owner: name on the bus of the program that has the property.
    ///   - path: signals of this object and of those below are examined.
    ///   - absent: the value while there is no daemon; nil for a stream without a value then.
    ///   - read: asks the daemon for the present value.
    ///   - change: extracts the value from a signal.
    func values<Element: Equatable & Sendable>(
        of owner: String = BTCallName.bus, at path: String, absent: Element? = nil,
        read: @escaping @ControlPlane (BridgeConnection) async throws(BridgeError) -> ValueReading<Element>,
        change: @escaping @ControlPlane (BusSignal) -> ValueReading<Element>
    ) -> AsyncStream<Element> {
        let (stream, continuation) = AsyncStream.makeStream(of: Element.self, bufferingPolicy: .bufferingNewest(64))
        let source = ValueSource(
            on: self, of: owner, at: path, continuation, absent: absent, read: read, change: change)
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

/// The source of one stream of values: a request when the daemon appears, then its signals.
@ControlPlane
private final class ValueSource<Element: Equatable & Sendable>: StreamSource {
    private let continuation: AsyncStream<Element>.Continuation
    private weak var connection: BridgeConnection?
    private let absent: Element?
    private let read: @ControlPlane (BridgeConnection) async throws(BridgeError) -> ValueReading<Element>
    private let change: @ControlPlane (BusSignal) -> ValueReading<Element>
    private var subscriptions: [Subscription] = []
    /// Nil while unknown.
    private var owner: String??
    private var last: Element?
    private var isAsking = false
    /// Whether the awaited answer is outdated: from another daemon, or from before a change.
    private var mustAskAgain = false
    /// The last value signalled while an answer was awaited. The answer may be older than it; when the answer is newer, it
    /// is the same.
    private var held: ValueReading<Element>?
    private(set) var isCancelled = false

    init(
        on connection: BridgeConnection, of name: String, at path: String,
        _ continuation: AsyncStream<Element>.Continuation,
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
            bus.subscribe(sender: name, pathNamespace: path) { [weak self] signal in self?.received(signal) },
            bus.watchName(name) { [weak self] owner in self?.ownerChanged(owner) },
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
        if owner != nil { ask() } else if let absent { handle(.value(absent)) }
    }

    private func ask() {
        mustAskAgain = isAsking
        guard !isAsking, let connection else { return }
        isAsking = true
        Task { @ControlPlane [weak self] in
            // A daemon that does not answer has gone: the stream asks the next one.
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
        if let answer { handle(answer) }
        if let later { handle(later) }
    }

    private func received(_ signal: BusSignal) {
        let reading = change(signal)
        switch reading {
        case .value, .over:
            if isAsking { held = reading } else { handle(reading) }
        case .unknown: ask()
        case .same: break
        }
    }

    private func handle(_ reading: ValueReading<Element>) {
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
