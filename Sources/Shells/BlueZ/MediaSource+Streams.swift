package import BluetoothTypes
import ControlLoop
import DBus
import Glibc
import Logging

/// A caller that waits for a stream.
@ControlPlane
final class PendingAcquisition {
    private var continuation: CheckedContinuation<Result<MediaSource.AcquiredStream, MediaError>, Never>?

    init(_ continuation: CheckedContinuation<Result<MediaSource.AcquiredStream, MediaError>, Never>) {
        self.continuation = continuation
    }

    /// Resumes the caller once; later calls have no effect.
    func finish(_ result: Result<MediaSource.AcquiredStream, MediaError>) {
        let waiting = continuation
        continuation = nil
        waiting?.resume(returning: result)
    }
}

// Acquiring and releasing streams, and the volume (`org.bluez.MediaTransport1`).
extension MediaSource {
    /// Starts the stream, or takes it when the headset has started it, and returns the socket for the music.
    ///
    /// Waits for a release in progress.
    ///
    /// - Throws: at once when the stream goes, when it is released, when bluetoothd leaves and when the task is cancelled;
    ///   after ten seconds when the headset does not answer. A stream that bluetoothd has started by then is released.
    package func acquire(_ address: BluetoothAddress) async throws(MediaError) -> AcquiredStream {
        if let path = transport(of: address)?.path, case .releasing(let release)? = acquisitions[path] {
            await release.value
        }
        guard case .present(let owner) = phase else { throw .serviceAbsent }
        guard let transport = transport(of: address) else {
            if let foreigner = foreigner(of: address) { throw .foreign(foreigner.owner) }
            throw .notConfigured
        }
        switch acquisitions[transport.path] {
        case nil: break
        case .acquiring, .releasing: throw .inProgress
        case .held: throw .alreadyAcquired
        }
        // Set below, before anything can be cancelled: both run on the control loop.
        let path = transport.path
        let abandoned = Abandonment()
        let result = await withTaskCancellationHandler {
            await withCheckedContinuation {
                (continuation: CheckedContinuation<Result<AcquiredStream, MediaError>, Never>) in
                let pending = PendingAcquisition(continuation)
                guard !Task.isCancelled else { return pending.finish(.failure(.cancelled)) }
                acquisitions[path] = .acquiring(pending)
                abandoned.action = { [weak self] in self?.abandon(path, pending, .cancelled) }
                call(transport.state == .pending ? "TryAcquire" : "Acquire", path, owner, pending)
            }
        } onCancel: {
            Task { @ControlPlane in abandoned.action?() }
        }
        return try result.get()
    }

    /// Suspends the stream and gives it back; returns when bluetoothd has done so. An acquisition in progress ends with
    /// `MediaError.cancelled`. Does nothing without a stream.
    package func release(_ address: BluetoothAddress) async {
        for path in transports.values.filter({ $0.address == address }).map(\.path).sorted() {
            await release(path: path)
        }
    }

    /// Whether the acquired stream of this headset can still be played to.
    package func holds(_ address: BluetoothAddress) -> Bool {
        transports.values.contains { transport in
            guard transport.address == address, case .held? = acquisitions[transport.path] else { return false }
            return true
        }
    }

    /// Sets the headset's volume, 0…127; an event reports the result.
    ///
    /// - Returns: whether the headset has a volume that can be set.
    @discardableResult
    package func setVolume(_ volume: Int, of address: BluetoothAddress) -> Bool {
        guard let owner, let transport = transport(of: address), transport.volume != nil else { return false }
        let level = UInt16(min(max(volume, 0), 127))
        bus.send(
            owner, transport.path, BlueZNames.properties, "Set",
            [.string(BlueZNames.mediaTransport), "Volume", .variant(.uint16(level))], timeout: Self.callTimeout
        ) { [weak self] result in
            guard let self, case .failure(let error) = result else { return }
            logger.notice("\(describe(address)): the volume is not set: \(error)")
        }
        return true
    }

    func release(path: String) async {
        switch acquisitions[path] {
        case nil: return
        case .acquiring(let pending): abandon(path, pending, .cancelled)
        case .held: startRelease(path)
        case .releasing: break
        }
        if case .releasing(let release)? = acquisitions[path] { await release.value }
    }

    private func call(_ member: String, _ path: String, _ owner: String, _ pending: PendingAcquisition) {
        bus.send(owner, path, BlueZNames.mediaTransport, member, timeout: acquireTimeout) { [weak self] result in
            guard let self, case .acquiring(let current)? = acquisitions[path], current === pending else {
                // Abandoned meanwhile; a descriptor that arrives late is closed with the answer.
                return
            }
            switch result {
            case .success(let values): acquired(values, path, pending)
            case .failure(let error)
            where member == "TryAcquire" && error.hasName(BlueZNames.errorPrefix + "NotAvailable"):
                // The headset has just stopped again.
                call("Acquire", path, owner, pending)
            case .failure(let error):
                let reason = MediaError(error)
                if reason == .timedOut { return abandon(path, pending, .timedOut) }
                acquisitions[path] = nil
                pending.finish(.failure(reason))
            }
        }
    }

    private func acquired(_ values: [Value], _ path: String, _ pending: PendingAcquisition) {
        guard let transport = transports[path], values.count == 3, let descriptor = values[0].descriptorValue,
            let writeMTU = values[2].uint16Value
        else { return abandon(path, pending, .unusable("bluetoothd did not hand over a socket")) }
        guard let bitpool = quality.bitpool(for: transport.configuration, writeMTU: Int(writeMTU)) else {
            return abandon(path, pending, .unusable("its packets of \(writeMTU) bytes are too small for a codec frame"))
        }
        // bluetoothd's sockets are non-blocking; the writer relies on it.
        let flags = fcntl(descriptor.descriptor, F_GETFL)
        _ = fcntl(descriptor.descriptor, F_SETFL, flags | O_NONBLOCK)
        acquisitions[path] = .held
        pending.finish(
            .success(
                AcquiredStream(
                    descriptor: descriptor, writeMTU: Int(writeMTU), configuration: transport.configuration,
                    bitpool: bitpool)))
    }

    /// Abandons an acquisition that bluetoothd has begun or completed.
    private func abandon(_ path: String, _ pending: PendingAcquisition, _ error: MediaError) {
        guard case .acquiring(let current)? = acquisitions[path], current === pending else { return }
        startRelease(path)
        pending.finish(.failure(error))
    }

    private func startRelease(_ path: String) {
        guard let owner else {
            acquisitions[path] = nil
            return
        }
        acquisitions[path] = .releasing(
            Task { @ControlPlane [weak self, bus, logger] in
                do throws(BusError) {
                    _ = try await bus.call(
                        owner, path, BlueZNames.mediaTransport, "Release", timeout: Self.callTimeout)
                } catch {
                    // The headset may have suspended it just before: then it is released already, as requested.
                    logger.debug("bluetoothd did not release \(path): \(error)")
                }
                guard let self, case .releasing? = acquisitions[path] else { return }
                acquisitions[path] = nil
            })
    }

    // MARK: State of streams

    /// Updates the streams from the tree.
    ///
    /// - Parameter reason: why streams that have left the tree are gone.
    func refreshTransports(_ reason: MediaError) {
        let inTree = mirror.objects.compactMapValues { $0[BlueZNames.mediaTransport] }
        discarded = discarded.filter { inTree[$0] != nil }
        for path in transports.keys.sorted() where inTree[path] == nil { drop(path, reason) }
        for path in foreigners.keys.sorted() where inTree[path] == nil { dropForeigner(path) }
        for (path, properties) in inTree.sorted(by: { $0.key < $1.key }) {
            if transports[path] != nil {
                update(path, properties)
            } else if !discarded.contains(path) {
                updateForeigner(path, properties)
            }
        }
    }

    func drop(_ path: String, _ reason: MediaError) {
        guard let transport = transports.removeValue(forKey: path) else { return }
        if case .acquiring(let pending)? = acquisitions.removeValue(forKey: path) { pending.finish(.failure(reason)) }
        logger.info("\(describe(transport.address)) has no A2DP now")
        if !transports.values.contains(where: { $0.address == transport.address }) { emit(.cleared(transport.address)) }
    }

    private func update(_ path: String, _ properties: [String: Value]) {
        guard var transport = transports[path] else { return }
        let old = transport
        transport.state = TransportState(properties)
        transport.volume = Self.volume(properties)
        transport.delay = Self.delay(properties)
        guard transport != old else { return }
        transports[path] = transport
        let address = transport.address
        if transport.state != old.state {
            // The headset has suspended the stream: bluetoothd has taken it back.
            if transport.state != .active, case .held? = acquisitions[path] { acquisitions[path] = nil }
            emit(.stateChanged(address, transport.state))
        }
        if let volume = transport.volume, volume != old.volume { emit(.volumeChanged(address, volume)) }
        if let delay = transport.delay, delay != old.delay { emit(.delayChanged(address, delay)) }
    }
}

/// Ends an acquisition whose task is cancelled.
@ControlPlane
private final class Abandonment {
    var action: (@ControlPlane () -> Void)?

    nonisolated init() {}
}
