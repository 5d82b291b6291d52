package import AudioDSP
package import AudioEngine
package import BluetoothTypes
package import Configuration
package import ControlLoop
package import Logging
package import Routing

/// What a voice link needs from whoever opened it: its descriptor and the way to close it.
@ControlPlane
package final class OpenAudioLink {
    package let descriptor: Int32
    package let codec: VoiceCodec
    /// Size of the first packets to expect, in bytes; the size of those received counts.
    package let packetBytesHint: Int
    /// The controller's number of the connection; nil where there is none.
    package let handle: UInt16?
    private var release: (@ControlPlane () -> Void)?

    /// - Parameter release: closes the descriptor; called once.
    package init(
        descriptor: Int32, codec: VoiceCodec, packetBytesHint: Int, handle: UInt16? = nil,
        release: @escaping @ControlPlane () -> Void
    ) {
        self.descriptor = descriptor
        self.codec = codec
        self.packetBytesHint = packetBytesHint
        self.handle = handle
        self.release = release
    }

    package func close() {
        release?()
        release = nil
    }
}

/// Where a call's audio can be: the endpoints that the engine has terminals for.
package enum AudioEndpoint: Hashable, Sendable, CustomStringConvertible {
    case local(LocalDevice)
    case headset(BluetoothAddress)
    /// A device that plays beside the calls; never a route.
    case output(OutputDevice)

    package var description: String {
        switch self {
        case .local(let kind): "\(kind)"
        case .headset(let address): "bluetooth:\(address)"
        case .output(let device): "output:\(device)"
        }
    }
}

/// Turns what the policy wants open into terminals of the audio engine, and the engine's events into facts.
///
/// Level-triggered: the wanted paths, links and route are kept, and `reconcile()` takes every step that is possible now.
/// A terminal that the engine still plays on is removed after the cut to its successor, so that no sample is lost; a
/// sound card that is being given back is opened again only when it is free.
@ControlPlane
package final class AudioGraph {
    package enum Event {
        case firstPacket(BluetoothAddress, bytes: Int)
        case linkSilent(BluetoothAddress, milliseconds: Int)
        case linkResumed(BluetoothAddress)
        /// The kernel closed the link (0: in order, else errno).
        case linkLost(BluetoothAddress, code: Int32)
        /// Closed as asked; its descriptor no longer exists.
        case linkClosed(BluetoothAddress)
        case pathFailed(PathError)
        case callAudioClosed(UInt32)
        /// The application has closed its end, and what it said has been said.
        case injectionEnded(UInt32)
        /// Somebody speaks into the microphone while it is muted.
        case speakingWhileMuted
        /// The microphone that is kept running between calls gives samples, or does no more.
        case microphoneReady(Bool)
        /// A local microphone has been opened.
        case microphoneOpened
        /// A local microphone cannot be opened, or has died while no call used it.
        case microphoneFailed(PathError)
        /// Samples of a microphone leave for somebody from now on, or do no more.
        case microphoneLive(Bool)
        /// Nobody renders the audio in place of devices any more.
        case manualEnded
        /// A copy of a call is over.
        case tapEnded(UInt32)
        /// A device that something is to be heard on beside the calls cannot be opened; nil: nothing waits for one any more.
        case outputFailed(OutputFailure?)
        /// The cut to an endpoint was made.
        case routed(AudioEndpoint?, gapMicroseconds: Int)
    }

    package enum Phase { case open, waitingForCut, removing }

    package final class Terminal {
        package let identifier: UInt32
        package let endpoint: AudioEndpoint
        package let close: @ControlPlane () -> Void
        package let codec: VoiceCodec?
        package let handle: UInt16?
        /// The headset that its A2DP stream goes to; nil of anything else.
        package var stream: BluetoothAddress?
        /// It hears the calls of other devices.
        package var isListening = false
        package var phase = Phase.open
        /// The engine has reported its end; nothing more is to be said about it.
        package var hasFailed = false

        package init(
            identifier: UInt32, endpoint: AudioEndpoint, codec: VoiceCodec?, handle: UInt16?,
            close: @escaping @ControlPlane () -> Void
        ) {
            self.identifier = identifier
            self.endpoint = endpoint
            self.codec = codec
            self.handle = handle
            self.close = close
        }
    }

    package var onEvent: (@ControlPlane (Event) -> Void)?
    /// Where A2DP streams come from; nil: there are none.
    package weak var streams: (any StreamOpening)?
    package var streamMicrophone: LocalDevice?
    package var listener: BluetoothAddress?
    /// The last device, the last microphone and the last link have been closed.
    package var onQuiet: (@ControlPlane () -> Void)?
    /// Asked before a local device is opened for calls: false when it may be opened now, else `proceed` is called when it may.
    package var beforeOpening: (@ControlPlane (LocalDevice, _ proceed: @escaping @ControlPlane () -> Void) -> Bool)?
    /// A local device has been opened for calls.
    package var onOpened: (@ControlPlane (LocalDevice, ALSAPath) -> Void)?
    /// Local devices that wait for that, and those that have waited.
    private var preparing: Set<LocalDevice> = []
    private var prepared: Set<LocalDevice> = []
    private var isPlayOnly = false
    package let engine: AudioEngine
    package let paths: any PathOpening
    package let logger: Logger
    private var source: DescriptorSource?
    package var terminals: [Terminal] = []
    private var nextIdentifier: UInt32 = 1
    /// Of headsets whose volume is made here.
    private var speakerGains: [BluetoothAddress: Float] = [:]
    /// Of local devices.
    package var localSpeakerGain: Float = 1
    /// What is to be done to the microphone, until the engine has it.
    package var voiceWish: VoiceWish?
    /// Of headsets that take echo and noise out themselves.
    package internal(set) var ownVoices: Set<BluetoothAddress> = []
    package private(set) var wantedPaths: Set<LocalDevice> = []
    package private(set) var wantedRoute: AudioEndpoint? {
        didSet { if let wantedRoute { lastRoute = wantedRoute } }
    }
    /// Where the calls were last.
    package private(set) var lastRoute: AudioEndpoint?
    /// Last route given to the engine, and the last cut it reported.
    private var commanded: UInt32?
    private var routed: UInt32?
    private var cutTimer: Timer?
    private let captures: CaptureStreams
    private var silentLimit: Duration?
    // What is heard beside the calls; see AudioGraph+Playbacks.
    package var playbacks: [Playback] = []
    package var lastPlayback: UInt32 = 0
    /// Devices that could not be opened for that; tried again when something else is closed, and each second.
    package var refusedOutputs: Set<OutputDevice> = []
    package var outputFailures: [OutputFailure] = []
    package var saidFailure: OutputFailure?
    package var outputRetry: Timer?
    package var allowsOutputs = true
    /// What terminals that are gone have counted, by the kind of their device.
    package var retired: [String: LinkQuality] = [:]
    /// A cut that has not come after this long will not come: the old terminal is removed all the same.
    private let longestCut = Duration.seconds(1)

    /// - Parameter silentLimit: fixed limit of the silent-link watchdog; nil adapts to the link.
    package init(
        engine: AudioEngine, paths: any PathOpening, silentLimit: Duration?, logger: Logger
    ) throws(SystemError) {
        self.engine = engine
        self.paths = paths
        self.silentLimit = silentLimit
        self.logger = logger
        captures = CaptureStreams(engine: engine, paths: paths, logger: logger)
        captures.onEvent = { [weak self] event in
            switch event {
            case .ready(let isReady): self?.onEvent?(.microphoneReady(isReady))
            case .opened: self?.onEvent?(.microphoneOpened)
            case .failed(let error): self?.onEvent?(.microphoneFailed(error))
            }
        }
        source = try ControlLoop.shared.add(engine.eventDescriptor, .readable) { [weak self] _ in self?.takeEvents() }
    }

    /// Ends the engine and gives everything back.
    package func close() {
        source?.cancel()
        source = nil
        outputRetry?.cancel()
        outputRetry = nil
        beforeOpening = nil
        wantedPaths = []
        engine.stop()
        for terminal in terminals { terminal.close() }
        terminals = []
        captures.close()
    }

    // MARK: What the policy wants

    package func openPath(_ kind: LocalDevice) {
        wantedPaths.insert(kind)
        reconcile()
    }

    package func closePath(_ kind: LocalDevice) {
        wantedPaths.remove(kind)
        prepared.remove(kind)
        reconcile()
    }

    /// Whether local devices that are opened from here on leave their microphones closed, where those open by themselves.
    package func setPlayOnly(_ isPlayOnly: Bool) {
        self.isPlayOnly = isPlayOnly
        reconcile()
    }

    /// Opens the wired headset anew when its microphone is another one from here on.
    package func setWiredMicrophone(_ isOwn: Bool) {
        guard paths.setWiredMicrophone(isOwn), let open = terminal(at: .local(.wiredHeadset)) else { return }
        // Its end brings `reconcile`, which finds it wanted and not open.
        remove(open)
    }

    package func route(to endpoint: AudioEndpoint?) {
        wantedRoute = endpoint
        reconcile()
    }

    /// Several changes as one step: a path that one change closes and the next opens again stays open.
    package func change(_ changes: () -> Void) {
        depth += 1
        changes()
        depth -= 1
        reconcile()
    }
    private var depth = 0

    /// Takes an open link over; it is kept alive with silence until it is routed to.
    package func add(link: OpenAudioLink, of address: BluetoothAddress) {
        let codec: LinkCodec =
            switch link.codec {
            case .cvsd: .cvsd
            case .mSBC: .mSBC
            case .lc3SWB: .lc3SWB
            }
        let kind = TerminalKind.link(
            descriptor: link.descriptor, codec: codec, packetBytesHint: link.packetBytesHint)
        let endpoint = AudioEndpoint.headset(address)
        guard let terminal = add(kind, endpoint, codec: link.codec, handle: link.handle, close: link.close) else {
            link.close()
            onEvent?(.linkLost(address, code: 0))
            return
        }
        engine.setSilentLimit(terminal.identifier, silentLimit)
        if let gain = speakerGains[address] { engine.setSpeakerGain(terminal.identifier, gain) }
        if ownVoices.contains(address) { engine.setOwnVoiceProcessing(terminal.identifier, true) }
    }

    /// Makes the volume of a headset that cannot, on the link that it has and on later ones.
    ///
    /// - Parameter gain: linear; nil leaves the volume of later links to the headset.
    package func setSpeakerGain(_ gain: Float?, ofLink address: BluetoothAddress) {
        speakerGains[address] = gain
        if let gain, let terminal = linkTerminal(address) {
            engine.setSpeakerGain(terminal.identifier, gain)
        }
    }

    /// Closes the link of a headset; `.linkClosed` says when it is done. Nothing happens when there is none.
    package func closeLink(_ address: BluetoothAddress) {
        guard let terminal = linkTerminal(address), terminal.phase == .open else { return }
        terminal.phase = .waitingForCut
        reconcile()
    }

    package func hasLink(_ address: BluetoothAddress) -> Bool {
        linkTerminal(address).map { $0.phase == .open } ?? false
    }

    /// Whether a link exists, even one that is being closed.
    package func holdsLink(_ address: BluetoothAddress) -> Bool {
        terminals.contains { $0.endpoint == .headset(address) && $0.stream == nil && !$0.hasFailed }
    }

    package func codec(ofLink address: BluetoothAddress) -> VoiceCodec? {
        linkTerminal(address).flatMap { $0.phase == .open ? $0.codec : nil }
    }

    // MARK: Microphones

    /// Which microphones of local devices are open.
    ///
    /// - Parameters:
    ///   - isOpen: calls use them; else what is played goes on alone. A device that has one stream for both directions
    ///     keeps it.
    ///   - prepared: whose microphone runs between calls as well, for nobody; nil: none.
    package func setMicrophones(isOpen: Bool, prepared: LocalDevice?) {
        captures.set(isOpen: isOpen, prepared: prepared)
        reconcile()
    }

    /// Tries again to open a microphone that could not be opened.
    package func retryMicrophones() {
        captures.retry()
        reconcile()
    }

    /// A device that is in use has a microphone by itself, which is not open.
    package var lacksMicrophone: Bool { captures.isMissing(in: capturePaths([.open])) }

    /// The microphone that runs between calls gives samples.
    package var isMicrophoneReady: Bool { captures.isReady }

    // MARK: Settings

    /// The limit of the silent-link watchdog, for the links that are open and for later ones; nil adapts to the link.
    package func setSilentLimit(_ limit: Duration?) {
        silentLimit = limit
        for terminal in terminals where terminal.codec != nil { engine.setSilentLimit(terminal.identifier, limit) }
    }

    // MARK: Figures

    /// Whether no device, no microphone and no link is open, nor being closed.
    package var isQuiet: Bool { terminals.isEmpty && captures.isEmpty }
    /// The terminal that carries the audio; nil while none does.
    package var routedTerminal: UInt32? { routed }
    package func endpoint(ofTerminal identifier: UInt32) -> AudioEndpoint? {
        terminals.first { $0.identifier == identifier }?.endpoint
    }
    package func codec(ofTerminal identifier: UInt32) -> VoiceCodec? {
        terminals.first { $0.identifier == identifier }?.codec
    }
    package func handle(ofTerminal identifier: UInt32) -> UInt16? {
        terminals.first { $0.identifier == identifier }?.handle
    }

    // MARK: Steps

    private func terminal(at endpoint: AudioEndpoint) -> Terminal? {
        terminals.first { $0.endpoint == endpoint && $0.phase != .removing }
    }

    /// The engine's number of an open link.
    package func identifier(ofLink address: BluetoothAddress) -> UInt32? { linkTerminal(address)?.identifier }

    /// A headset's voice link; its stream over A2DP is another terminal.
    private func linkTerminal(_ address: BluetoothAddress) -> Terminal? {
        terminals.first { $0.endpoint == .headset(address) && $0.stream == nil && $0.phase != .removing }
    }

    package func add(
        _ kind: TerminalKind, _ endpoint: AudioEndpoint, codec: VoiceCodec?, handle: UInt16? = nil,
        isAlone: Bool = false, isStream: Bool = false,
        close: @escaping @ControlPlane () -> Void
    ) -> Terminal? {
        fulfilVoiceWish()
        let terminal = Terminal(
            identifier: nextIdentifier, endpoint: endpoint, codec: codec, handle: handle, close: close)
        if isStream, case .headset(let address) = endpoint { terminal.stream = address }
        do throws(AudioEngineError) {
            var gain: Float = 1
            if case .local = endpoint { gain = localSpeakerGain }
            try engine.addTerminal(terminal.identifier, kind, speakerGain: gain, isAlone: isAlone)
        } catch {
            logger.error("the audio engine does not take \(endpoint): \(error)")
            return nil
        }
        nextIdentifier &+= 1
        terminals.append(terminal)
        return terminal
    }

    package func reconcile() {
        guard depth == 0 else { return }
        openWantedPaths()
        // A path starts with its microphone, and loses it when it goes.
        followCaptures()
        commandRoute()
        removeUnwanted()
        followCaptures()
        reconcilePlaybacks()
    }

    private func followCaptures() { captures.follow(capturePaths([.open, .waitingForCut])) }

    private func capturePaths(_ phases: [Phase]) -> [CaptureStreams.Path] {
        guard !isPlayOnly else { return [] }
        var users: [CaptureStreams.Path] = []
        for phase in phases {
            for terminal in terminals where terminal.phase == phase {
                guard let kind = microphone(of: terminal) else { continue }
                users.append(CaptureStreams.Path(terminal: terminal.identifier, kind: kind))
            }
        }
        return users
    }

    /// The local device whose microphone calls on a terminal use.
    private func microphone(of terminal: Terminal) -> LocalDevice? {
        switch terminal.endpoint {
        case .local(let kind): kind
        case .headset: terminal.stream == nil ? nil : streamMicrophone
        case .output: nil
        }
    }

    private func openWantedPaths() {
        for kind in wantedPaths.sorted(by: { $0.rawValue < $1.rawValue }) {
            let endpoint = AudioEndpoint.local(kind)
            if let present = terminal(at: endpoint) {
                present.phase = .open
                continue
            }
            // The ringer's, until now.
            if let output = terminals.first(where: { $0.endpoint == .output(.local(kind)) }) {
                if output.phase != .removing { remove(output) }
                continue
            }
            // Still being given back: opening it again now would find it busy. `.terminalRemoved` comes here again.
            guard !terminals.contains(where: { $0.endpoint == endpoint }), mayOpen(kind) else { continue }
            do throws(PathError) {
                let hasMicrophone = paths.microphone(of: kind) != nil
                let path = try hasMicrophone ? paths.openPlayback(kind) : paths.openPath(kind)
                do throws(PathError) {
                    if !isPlayOnly { try captures.open(for: kind) }
                } catch {
                    path.close()
                    throw error
                }
                guard add(path.terminal, endpoint, codec: nil, close: path.close) != nil else {
                    path.close()
                    throw PathError(
                        device: kind, what: "the audio engine refused it", remedy: "see the lines before in the log")
                }
                logger.debug("opened \(kind): \(path.summary)")
                if case .path(let opened) = path.terminal { onOpened?(kind, opened) }
            } catch {
                // With two devices on one card that opens once, the one that has just been left is in the way.
                if error.cause == .busy, giveBackUnwanted() || captures.giveBackUnused() { continue }
                wantedPaths.remove(kind)
                ControlLoop.shared.perform { [weak self] in self?.onEvent?(.pathFailed(error)) }
            }
        }
    }

    /// Whether a local device can be opened now; what has to be asked first comes back to `reconcile`.
    private func mayOpen(_ kind: LocalDevice) -> Bool {
        if prepared.remove(kind) != nil { return true }
        guard let beforeOpening else { return true }
        guard !preparing.contains(kind) else { return false }
        let mustWait = beforeOpening(kind) { [weak self] in
            guard let self else { return }
            preparing.remove(kind)
            if wantedPaths.contains(kind) { prepared.insert(kind) }
            reconcile()
        }
        if mustWait { preparing.insert(kind) }
        return !mustWait
    }

    /// Gives local devices back that nobody wants any more, without waiting for the cut.
    ///
    /// - Returns: whether there are any: `.terminalRemoved` comes back to `reconcile`.
    private func giveBackUnwanted() -> Bool {
        var isAny = false
        for terminal in terminals {
            switch terminal.endpoint {
            case .local(let kind) where !wantedPaths.contains(kind): break
            case .output: break
            case .local, .headset: continue
            }
            isAny = true
            if terminal.phase != .removing { remove(terminal) }
        }
        return isAny
    }

    private func commandRoute() {
        let target = wantedRoute.flatMap { terminal(at: $0) }?.identifier
        // A path that is not open yet keeps the old route: silence is what it would be replaced by.
        if target == nil, wantedRoute != nil, commanded != nil { return }
        guard target != commanded else { return }
        commanded = target
        engine.route(to: target)
    }

    private func removeUnwanted() {
        var waiting = false
        for terminal in terminals {
            switch terminal.phase {
            case .removing: continue
            case .open:
                guard case .local(let kind) = terminal.endpoint, !wantedPaths.contains(kind) else { continue }
                terminal.phase = .waitingForCut
            case .waitingForCut: break
            }
            // What replaces it is about to be opened.
            if routed == terminal.identifier, !preparing.isEmpty { continue }
            if routed == terminal.identifier, let commanded, commanded != terminal.identifier {
                waiting = true
                continue
            }
            remove(terminal)
        }
        if !waiting {
            cutTimer?.cancel()
            cutTimer = nil
        } else if cutTimer == nil {
            cutTimer = ControlLoop.shared.schedule(after: longestCut) { [weak self] in self?.cutOverdue() }
        }
    }

    private func cutOverdue() {
        cutTimer = nil
        for terminal in terminals where terminal.phase == .waitingForCut {
            logger.warning(
                "no audio came from the new device within a second: \(terminal.endpoint) is closed all the same")
            remove(terminal)
        }
    }

    package func remove(_ terminal: Terminal) {
        retire(terminal)
        terminal.phase = .removing
        if commanded == terminal.identifier {
            commanded = nil
            engine.route(to: nil)
        }
        engine.removeTerminal(terminal.identifier)
    }

    // MARK: Events of the engine

    private func takeEvents() {
        for event in engine.takeEvents() { take(event) }
    }

    private func take(_ event: AudioEngineEvent) {
        switch event {
        case .firstPacket(let identifier, let bytes):
            forLink(identifier) { onEvent?(.firstPacket($0, bytes: bytes)) }
        case .linkSilent(let identifier, let milliseconds):
            forLink(identifier) { onEvent?(.linkSilent($0, milliseconds: milliseconds)) }
        case .linkResumed(let identifier, _):
            forLink(identifier) { onEvent?(.linkResumed($0)) }
        case .terminalFailed(let identifier, let code): failed(identifier, code)
        case .terminalRemoved(let identifier): removed(identifier)
        case .routed(let identifier, let gap):
            routed = identifier
            onEvent?(.routed(identifier.flatMap(endpoint(ofTerminal:)), gapMicroseconds: gap))
            reconcile()
        case .callStarted: break
        case .callClosed(let call, _): onEvent?(.callAudioClosed(call))
        case .playbackEnded(let playback): playbackEnded(playback)
        case .injectionEnded(let injection): onEvent?(.injectionEnded(injection))
        case .speakingWhileMuted: onEvent?(.speakingWhileMuted)
        case .captureReady(let capture): captures.flowing(capture)
        case .captureFailed(let capture, let code): captures.failed(capture, code)
        case .captureRemoved(let capture):
            captures.removed(capture)
            reconcile()
            if isQuiet { onQuiet?() }
        case .microphoneLive(let isLive): onEvent?(.microphoneLive(isLive))
        case .manualEnded: onEvent?(.manualEnded)
        case .tapEnded(let tap): onEvent?(.tapEnded(tap))
        case .deadlineMissed(let count):
            logger.debug("the audio thread was more than 20 ms late \(count) times")
        case .eventsLost(let count): logger.error("\(count) events of the audio engine were lost")
        }
    }

    private func forLink(_ identifier: UInt32, _ body: (BluetoothAddress) -> Void) {
        guard let terminal = terminals.first(where: { $0.identifier == identifier }), terminal.phase == .open,
            case .headset(let address) = terminal.endpoint
        else { return }
        body(address)
    }

    private func failed(_ identifier: UInt32, _ code: Int32) {
        guard let terminal = terminals.first(where: { $0.identifier == identifier }) else { return }
        if commanded == identifier { commanded = nil }
        if routed == identifier { routed = nil }
        guard terminal.phase != .removing else { return }
        retire(terminal)
        terminal.phase = .removing
        terminal.hasFailed = true
        engine.removeTerminal(identifier)
        switch terminal.endpoint {
        case .headset(let address):
            guard terminal.stream == nil else {
                streams?.streamFailed(address, code: code, isRoute: true)
                return
            }
            onEvent?(.linkLost(address, code: code))
        case .local(let kind):
            wantedPaths.remove(kind)
            onEvent?(.pathFailed(Self.pulled(kind, code)))
        case .output(let device):
            guard let address = terminal.stream else { return outputFailed(device, code) }
            streams?.streamFailed(address, code: code, isRoute: false)
        }
    }

    private static func pulled(_ kind: LocalDevice, _ code: Int32) -> PathError {
        PathError(
            device: kind, what: "\(SystemError(call: "the sound card", code: code))",
            remedy: "plug the card in again; the call goes on with the next device meanwhile")
    }

    private func removed(_ identifier: UInt32) {
        guard let index = terminals.firstIndex(where: { $0.identifier == identifier }) else { return }
        let terminal = terminals.remove(at: index)
        if commanded == identifier { commanded = nil }
        if routed == identifier { routed = nil }
        terminal.close()
        captures.pathRemoved(identifier)
        // What has failed would fail again at once.
        if case .output = terminal.endpoint, terminal.hasFailed {} else { refusedOutputs.removeAll() }
        if case .headset(let address) = terminal.endpoint, !terminal.hasFailed, terminal.stream == nil {
            onEvent?(.linkClosed(address))
        }
        reconcile()
        if isQuiet { onQuiet?() }
    }
}
