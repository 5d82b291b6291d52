import BTCallAPI
import ControlLoop
import DBus
import Glibc

/// Receives the log of one bridge's daemon while the process has a log callback.
@ControlPlane
final class LogFollower {
    /// Longest wait for a busy daemon when a bridge is created.
    private static let answerTimeout = Duration.seconds(2)
    /// Packets read in one turn of the loop.
    private static let mostPacketsPerTurn = 32

    private weak var connection: BridgeConnection?
    private let bus: BridgeBus
    private var presence: Subscription?
    /// The daemon's own name on the bus.
    private var owner: String?
    private var isAsking = false
    /// The daemon that sends its log, or has refused to.
    private var asked: String?
    private var descriptor: Int32 = -1
    private var source: DescriptorSource?
    private var buffer: [UInt8] = []

    init(on connection: BridgeConnection) {
        self.connection = connection
        bus = connection.bus
    }

    isolated deinit { stop() }

    /// Returns once the daemon sends its log, if it is present and the process receives the log.
    func start() async {
        guard let connection else { return }
        LogReceiver.add(self, on: bus) { [weak self] in self?.update() }
        if LogReceiver.wants(self, on: bus) {
            // Nobody owns the name: a daemon that appears later is asked then.
            owner = try? await connection.connection.owner(of: BTCallName.bus)
            if let owner { await ask(owner) }
        }
        presence = connection.connection.watchName(BTCallName.bus) { [weak self] owner in self?.ownerChanged(owner) }
    }

    func stop() {
        presence?.cancel()
        presence = nil
        owner = nil
        leave()
        LogReceiver.remove(self)
    }

    private func ownerChanged(_ owner: String?) {
        self.owner = owner
        update()
    }

    private func update() {
        guard let owner, LogReceiver.wants(self, on: bus) else {
            asked = nil
            return leave()
        }
        guard asked != owner, !isAsking else { return }
        Task { @ControlPlane [weak self] in await self?.ask(owner) }
    }

    private func ask(_ owner: String) async {
        guard !isAsking, let connection else { return }
        isAsking = true
        asked = owner
        leave()
        do throws(BridgeError) {
            let answer = try await connection.request(
                BTCallPath.manager, BTCallName.Interface.manager, BTCallName.Manager.subscribeLog,
                timeout: Self.answerTimeout)
            try follow(answer.first?.descriptorValue)
        } catch {
            LogReceiver.deliver(
                LogLine(level: "warning", module: "btcall", message: "btcalld does not give its log: \(error.message)"))
        }
        isAsking = false
        // Something may have changed meanwhile.
        if self.owner != asked || !LogReceiver.wants(self, on: bus) { update() }
    }

    private func follow(_ socket: PassedDescriptor?) throws(BridgeError) {
        guard let socket else { throw BridgeError(.failed, "its answer has no descriptor") }
        descriptor = socket.take()
        _ = fcntl(descriptor, F_SETFL, O_NONBLOCK)
        if buffer.isEmpty { buffer = [UInt8](repeating: 0, count: LogLine.longestPacket) }
        do throws(SystemError) {
            source = try ControlLoop.shared.add(descriptor, .readable) { [weak self] _ in self?.receive() }
        } catch {
            leave()
            throw BridgeError(.failed, "\(error)")
        }
    }

    private func leave() {
        source?.cancel()
        source = nil
        if descriptor >= 0 { close(descriptor) }
        descriptor = -1
    }

    private func receive() {
        for _ in 0..<Self.mostPacketsPerTurn {
            let descriptor = descriptor
            let count = buffer.withUnsafeMutableBytes { recv(descriptor, $0.baseAddress, $0.count, 0) }
            guard count > 0 else {
                // The daemon has ended it; the next daemon is asked when it appears.
                if count == 0 || (errno != EAGAIN && errno != EINTR) { leave() }
                return
            }
            if let line = LogLine(packet: buffer.prefix(count)) { LogReceiver.deliver(line) }
            // The callback may have ended it.
            guard source != nil else { return }
        }
    }
}
