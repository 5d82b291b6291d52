package import AudioPaths
import BluetoothSockets
package import BluetoothTypes
package import ControlLoop
import Diagnostics
package import Logging

/// Lets one audio link be set up at a time, keeps the pause after a close, and holds each new link to its first packet.
///
/// Two set-ups at once break the kernel's good link (bluez/bluez#2562), a connect right after a close fails on many
/// headsets, and a link without packets is a controller that sends voice elsewhere: a second try is made, then the
/// caller's ladder goes down a codec (HFP.md section 6).
@ControlPlane
package final class LinkAdmission {
    package static let firstPacketLimit = Duration.seconds(1)
    package static let busyLimit = Duration.seconds(2)

    private let opener: any AudioLinkOpening
    private let graph: AudioGraph
    /// Least time between the close of a headset's link and its next open.
    package var pause: Duration
    /// The set-up of a headset's link has to be tried again.
    package var onRetry: (@ControlPlane (BluetoothAddress) -> Void)?
    /// The set-up of a headset's link begins, whoever asked for it.
    package var onSetUp: (@ControlPlane (BluetoothAddress) -> Void)?
    /// The set-up of a link with a codec has ended; nil: it is up.
    package var onOutcome: (@ControlPlane (VoiceCodec, AudioFailure?) -> Void)?
    /// The kernel refused a headset's link for `busyLimit`: it still holds an earlier one.
    package var onStuck: (@ControlPlane (BluetoothAddress) -> Void)?
    /// What may be wrong with a link that is up while nothing has come in.
    package var advice: (@ControlPlane (BluetoothAddress) -> String)?
    private let logger: Logger
    /// No link is being set up any more.
    package var onIdle: (@ControlPlane () -> Void)?
    private var busyWith: BluetoothAddress? {
        didSet { if busyWith == nil { onIdle?() } }
    }
    /// Whether a link is being set up, of whichever headset.
    package var isSettingUp: Bool { busyWith != nil }
    private var isCancelled = false
    /// Set-ups that wait for another headset's to end; true once they were cancelled.
    private var waiting: [BluetoothAddress: Bool] = [:]
    /// Of headsets whose pause is not over, and of those that were closed since the last one was.
    private var closedAt: [BluetoothAddress: Instant] = [:]
    private var firstPacket: (address: BluetoothAddress, continuation: CheckedContinuation<Bool, Never>, timer: Timer)?

    /// - Parameter pause: least time between the close of a headset's link and its next open.
    package init(opener: any AudioLinkOpening, graph: AudioGraph, pause: Duration, logger: Logger) {
        self.opener = opener
        self.graph = graph
        self.pause = pause
        self.logger = logger
    }

    /// Opens a link and hands it to the audio graph; returns nil when its first packet has come.
    package func open(
        _ address: BluetoothAddress, codec: VoiceCodec, timeout: Duration
    ) async -> AudioFailure? {
        let failure = await setUp(address, attempts: 2, timeout) { [opener] () async throws(AudioLinkError) in
            try await opener.open(address, codec: codec, timeout: timeout)
        }
        onOutcome?(codec, failure)
        return failure
    }

    /// Accepts a link that a headset opens; the same rules, without a second try.
    package func accept(
        _ link: any IncomingAudioLink, codec: VoiceCodec, timeout: Duration
    ) async -> AudioFailure? {
        let failure = await setUp(link.peer, attempts: 1, timeout) { () async throws(AudioLinkError) in
            try await link.accept(codec: codec, timeout: timeout)
        }
        onOutcome?(codec, failure)
        return failure
    }

    /// Gives up the set-up of this headset's link; its caller gets `cancelled`.
    package func cancel(_ address: BluetoothAddress) {
        guard busyWith == address else {
            if waiting[address] != nil { waiting[address] = true }
            return
        }
        isCancelled = true
        opener.cancel()
        decideFirstPacket(of: address, came: false)
    }

    /// The graph saw the first packet of a link.
    package func firstPacketCame(_ address: BluetoothAddress) { decideFirstPacket(of: address, came: true) }

    /// The link is gone: the pause begins.
    package func linkClosed(_ address: BluetoothAddress) {
        beginPause(address)
        // The end of an earlier link says nothing about the one that is awaited.
        if !graph.hasLink(address) { decideFirstPacket(of: address, came: false) }
    }

    /// How many closed links are remembered.
    package var pauseCount: Int { closedAt.count }

    private func beginPause(_ address: BluetoothAddress) {
        let now = ControlLoop.now
        closedAt = closedAt.filter { $0.value.advanced(by: pause) > now }
        closedAt[address] = now
    }

    private func setUp(
        _ address: BluetoothAddress, attempts: Int, _ timeout: Duration,
        _ open: @ControlPlane () async throws(AudioLinkError) -> OpenAudioLink
    ) async -> AudioFailure? {
        onSetUp?(address)
        if let failure = await waitForTurn(address, timeout) { return failure }
        busyWith = address
        isCancelled = false
        defer { busyWith = nil }
        for attempt in 1...attempts {
            if attempt > 1 { onRetry?(address) }
            if let closed = closedAt[address] { await ControlLoop.shared.sleep(until: closed.advanced(by: pause)) }
            guard !isCancelled else { return .cancelled }
            do throws(AudioLinkError) {
                let link = try await openWhenFree(open)
                guard !isCancelled else {
                    link.close()
                    beginPause(address)
                    return .cancelled
                }
                graph.add(link: link, of: address)
            } catch {
                logger.about(headset: address).notice("\(address): \(error)")
                if error == .busy, !isCancelled { onStuck?(address) }
                return isCancelled ? .cancelled : Self.failure(error)
            }
            if await waitForFirstPacket(address) { return nil }
            let isUp = graph.hasLink(address)
            graph.closeLink(address)
            beginPause(address)
            if isCancelled { return .cancelled }
            noteSilence(of: address, isUp: isUp, isLast: attempt == attempts)
        }
        return .failed
    }

    /// A link whose other side has closed it says nothing about where the controller sends voice.
    private func noteSilence(of address: BluetoothAddress, isUp: Bool, isLast: Bool) {
        let next = isLast ? "" : "; trying once more"
        guard isUp else {
            logger.about(headset: address).warning("\(address): the audio link ended before anything came in\(next)")
            return
        }
        logger.about(headset: address).warning(
            """
            \(address): the audio link is up and nothing comes in\(next): \
            \(advice?(address) ?? "the headset does not send, or the controller keeps it for itself")
            """)
    }

    /// A set-up that was cancelled takes a moment to end; no second one begins before.
    private func waitForTurn(_ address: BluetoothAddress, _ timeout: Duration) async -> AudioFailure? {
        guard busyWith != nil else { return nil }
        guard waiting[address] == nil else { return .busy }
        waiting[address] = false
        defer { waiting[address] = nil }
        let end = ControlLoop.now.advanced(by: timeout)
        while busyWith != nil {
            guard ControlLoop.now < end else { return .busy }
            await ControlLoop.shared.sleep(for: .milliseconds(20))
            if waiting[address] == true { return .cancelled }
        }
        return nil
    }

    /// A set-up that was given up may still be with the kernel, which answers `busy` until it has ended: that is waited for.
    private func openWhenFree(
        _ open: @ControlPlane () async throws(AudioLinkError) -> OpenAudioLink
    ) async throws(AudioLinkError) -> OpenAudioLink {
        let end = ControlLoop.now.advanced(by: Self.busyLimit)
        while true {
            do throws(AudioLinkError) {
                return try await open()
            } catch {
                guard error == .busy, ControlLoop.now < end, !isCancelled else { throw error }
                await ControlLoop.shared.sleep(for: .milliseconds(100))
                if isCancelled { throw .cancelled }
            }
        }
    }

    private func waitForFirstPacket(_ address: BluetoothAddress) async -> Bool {
        guard graph.hasLink(address) else { return false }
        return await withCheckedContinuation { continuation in
            let timer = ControlLoop.shared.schedule(after: Self.firstPacketLimit) { [weak self] in
                self?.decideFirstPacket(of: address, came: false)
            }
            firstPacket = (address, continuation, timer)
        }
    }

    private func decideFirstPacket(of address: BluetoothAddress, came: Bool) {
        guard let waiting = firstPacket, waiting.address == address else { return }
        firstPacket = nil
        waiting.timer.cancel()
        waiting.continuation.resume(returning: came)
    }

    private static func failure(_ error: AudioLinkError) -> AudioFailure {
        switch error {
        case .refused: .refused
        case .timedOut: .timedOut
        case .unsupportedCodec: .unsupportedCodec
        case .busy, .alreadyConnecting: .busy
        case .cancelled: .cancelled
        case .noBluetoothInKernel, .noAdapter, .headsetAbsent, .notPaired, .negotiationFailed, .lost, .tryAgain,
            .notPermitted, .listenerExists, .failed:
            .failed
        }
    }
}
