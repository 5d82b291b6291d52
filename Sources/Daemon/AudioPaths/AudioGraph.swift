package import AudioDSP
package import AudioEngine
package import BluetoothTypes
package import Configuration
package import ControlLoop
package import Logging
package import Routing

/// Turns what the policy wants open into terminals of the audio engine, and the engine's events into events for the policy.
///
/// Level-triggered: keeps the wanted paths, links and route, and `reconcile()` takes every step that is possible now. A
/// terminal that the engine still plays on is removed after the cut to its successor, so that no sample is lost; a sound
/// card that is being closed is opened again only when it is free.
@ControlPlane
package final class AudioGraph {
    package enum Event {
        case firstPacket(BluetoothAddress, bytes: Int)
        case linkSilent(BluetoothAddress, milliseconds: Int)
        case linkResumed(BluetoothAddress)
        /// The kernel closed the link; code 0: orderly, otherwise errno.
        case linkLost(BluetoothAddress, code: Int32)
        /// The link was closed on request; its descriptor no longer exists.
        case linkClosed(BluetoothAddress)
        case pathFailed(PathError)
        case callAudioClosed(UInt32)
        /// The application has closed its end, and all its audio has been played.
        case injectionEnded(UInt32)
        /// Somebody speaks into the muted microphone.
        case speakingWhileMuted
        /// The microphone that is kept running between calls has started or stopped delivering samples.
        case microphoneReady(Bool)
        /// A local microphone has been opened.
        case microphoneOpened
        /// A local microphone cannot be opened, or has failed while no call used it.
        case microphoneFailed(PathError)
        /// Samples of a microphone have started or stopped leaving the process.
        case microphoneLive(Bool)
        /// Manual rendering in place of devices has ended.
        case manualEnded
        /// A copy of a call has ended.
        case tapEnded(UInt32)
        /// A device for a playback beside the calls cannot be opened; nil: no playback waits for one any more.
        case outputFailed(OutputFailure?)
        /// The engine has cut to an endpoint.
        case routed(AudioEndpoint?, gapMicroseconds: Int)
    }

    package enum Phase { case open, waitingForCut, removing }

    package final class Terminal {
        package let identifier: UInt32
        package let endpoint: AudioEndpoint
        package let close: @ControlPlane () -> Void
        package let codec: VoiceCodec?
        package let handle: UInt16?
        /// The headset of an A2DP stream; nil for other terminals.
        package var stream: BluetoothAddress?
        /// Whether it plays the calls of other devices.
        package var isListening = false
        package var phase = Phase.open
        /// It stands by: calls do not use it yet.
        var isStandby = false
        /// Its streams, if it stood by, for the report that calls have opened it.
        var path: ALSAPath?
        /// The engine has reported its failure; no further event follows.
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

    package let events = Signal<Event>()
    /// Source of A2DP streams; nil without A2DP.
    package weak var streams: (any StreamOpening)?
    package var streamMicrophone: LocalDevice?
    package var listener: BluetoothAddress?
    /// The last device, microphone and link have been closed.
    package let quiet = Signal<Void>()
    /// Called before a local device is opened for calls: returns false if it may be opened now, otherwise calls `proceed`
    /// later.
    package var beforeOpening: (@ControlPlane (LocalDevice, _ proceed: @escaping @ControlPlane () -> Void) -> Bool)?
    /// A local device has been opened for calls.
    package let opened = Signal<(LocalDevice, ALSAPath)>()
    /// Local devices that wait for `proceed`, and those that may be opened after it.
    var preparing: Set<LocalDevice> = []
    var prepared: Set<LocalDevice> = []
    var isPlayOnly = false
    // State of the device that stands by; see AudioGraph+Standby.
    var allowsStandby = false
    var requestedStandby: LocalDevice?
    /// The requested device, if it cannot stand by.
    var refusedStandby: LocalDevice?
    /// Another device stands by, or none: calls can be heard there at any moment from now on.
    package let standbyChanges = Signal<LocalDevice?>()
    /// The device of the latest of `standbyChanges`.
    var standingBy: LocalDevice?
    /// The switch that the audio thread makes at once when the calls' link falls silent.
    var standIn: StandIn?
    package let engine: AudioEngine
    package let paths: any PathOpening
    package let logger: Logger
    private var source: DescriptorSource?
    package var terminals: [Terminal] = []
    private var nextIdentifier: UInt32 = 1
    /// Software volumes of headsets.
    var speakerGains: [BluetoothAddress: Float] = [:]
    /// Volume of local devices.
    package var localSpeakerGain: Float = 1
    /// Requested voice processing, until the engine has it.
    package var requestedVoiceProcessing: VoiceProcessingRequest?
    /// Headsets that remove echo and noise themselves.
    package internal(set) var ownVoices: Set<BluetoothAddress> = []
    package internal(set) var wantedPaths: Set<LocalDevice> = []
    package private(set) var wantedRoute: AudioEndpoint? {
        didSet { if let wantedRoute { lastRoute = wantedRoute } }
    }
    /// The last route of the calls.
    package private(set) var lastRoute: AudioEndpoint?
    /// The last route sent to the engine, and the last cut that the engine reported.
    var commanded: UInt32?
    var routed: UInt32?
    private var cutTimer: Timer?
    let captures: CaptureStreams
    var silentLimit: Duration?
    // State of playbacks beside the calls; see AudioGraph+Playbacks.
    package var playbacks: [Playback] = []
    package var lastPlayback: UInt32 = 0
    /// Devices that could not be opened for playbacks; retried when something else is closed, and each second.
    package var refusedOutputs: Set<OutputDevice> = []
    package var outputFailures: [OutputFailure] = []
    package var saidFailure: OutputFailure?
    package var outputRetry: Timer?
    package var allowsOutputs = true
    /// Counters of removed terminals, by kind of device.
    package var retired: [String: LinkQuality] = [:]
    /// A cut that has not happened within this time will not happen: the old terminal is removed then.
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
            case .ready(let isReady): self?.events.send(.microphoneReady(isReady))
            case .opened: self?.events.send(.microphoneOpened)
            case .failed(let error):
                if let self, !giveBackStandby(after: error) { events.send(.microphoneFailed(error)) }
            }
        }
        source = try ControlLoop.shared.add(engine.eventDescriptor, .readable) { [weak self] _ in self?.handleEvents() }
    }

    /// Stops the engine and closes everything.
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

    // MARK: Requests of the policy

    package func route(to endpoint: AudioEndpoint?) {
        wantedRoute = endpoint
        reconcile()
    }

    /// Applies several changes as one step: a path that one change closes and the next opens stays open.
    package func change(_ changes: () -> Void) {
        depth += 1
        changes()
        depth -= 1
        reconcile()
    }
    private var depth = 0

    // MARK: Microphones

    /// Sets which microphones of local devices are open.
    ///
    /// - Parameters:
    ///   - isOpen: calls use the microphones; if false, playback continues alone. A device with one stream for both
    ///     directions keeps its microphone.
    ///   - prepared: device whose microphone also runs between calls, unused; nil: none.
    package func setMicrophones(isOpen: Bool, prepared: LocalDevice?) {
        captures.set(isOpen: isOpen, prepared: prepared)
        reconcile()
    }

    /// Retries microphones that could not be opened.
    package func retryMicrophones() {
        captures.retry()
        reconcile()
    }

    /// Whether a device in use has a separate microphone that is not open.
    package var lacksMicrophone: Bool { captures.isMissing(in: capturePaths([.open])) }

    /// Whether the microphone that runs between calls delivers samples.
    package var isMicrophoneReady: Bool { captures.isReady }

    // MARK: Figures

    /// Whether no device, microphone or link is open or being closed.
    package var isQuiet: Bool { terminals.isEmpty && captures.isEmpty }
    /// The terminal that carries the audio; nil if none does.
    package var routedTerminal: UInt32? { routed }
    /// Nil for a device that stands by, too.
    package func endpoint(ofTerminal identifier: UInt32) -> AudioEndpoint? {
        terminals.first { $0.identifier == identifier && !$0.isStandby }?.endpoint
    }
    package func codec(ofTerminal identifier: UInt32) -> VoiceCodec? {
        terminals.first { $0.identifier == identifier }?.codec
    }
    package func handle(ofTerminal identifier: UInt32) -> UInt16? {
        terminals.first { $0.identifier == identifier }?.handle
    }

    // MARK: Steps

    func terminal(at endpoint: AudioEndpoint) -> Terminal? {
        terminals.first { $0.endpoint == endpoint && $0.phase != .removing }
    }

    package func add(
        _ kind: TerminalKind, _ endpoint: AudioEndpoint, codec: VoiceCodec?, handle: UInt16? = nil,
        isAlone: Bool = false, isStream: Bool = false, speaksAtOnce: Bool = false,
        close: @escaping @ControlPlane () -> Void
    ) -> Terminal? {
        startRequestedVoiceProcessing()
        let terminal = Terminal(
            identifier: nextIdentifier, endpoint: endpoint, codec: codec, handle: handle, close: close)
        if isStream, case .headset(let address) = endpoint { terminal.stream = address }
        do throws(AudioEngineError) {
            var gain: Float = 1
            if case .local = endpoint { gain = localSpeakerGain }
            try engine.addTerminal(
                terminal.identifier, kind, speakerGain: gain, isAlone: isAlone, speaksAtOnce: speaksAtOnce)
        } catch {
            logger.error("the audio engine does not accept \(endpoint): \(error)")
            return nil
        }
        nextIdentifier &+= 1
        terminals.append(terminal)
        return terminal
    }

    package func reconcile() {
        guard depth == 0 else { return }
        openWantedPaths()
        // A path starts with its microphone, and loses it when it is closed.
        followCaptures()
        commandRoute()
        removeUnwanted()
        followCaptures()
        reconcilePlaybacks()
        openStandby()
        prepareStandIn()
    }

    private func followCaptures() { captures.follow(capturePaths([.open, .waitingForCut])) }

    private func capturePaths(_ phases: [Phase]) -> [CaptureStreams.Path] {
        guard !isPlayOnly else { return [] }
        var users: [CaptureStreams.Path] = []
        for phase in phases {
            for terminal in terminals where terminal.phase == phase && !terminal.isStandby {
                guard let kind = microphone(of: terminal) else { continue }
                users.append(CaptureStreams.Path(terminal: terminal.identifier, kind: kind))
            }
        }
        return users
    }

    /// The local device whose microphone serves calls on a terminal.
    private func microphone(of terminal: Terminal) -> LocalDevice? {
        switch terminal.endpoint {
        case .local(let kind): kind
        case .headset: terminal.stream == nil ? nil : streamMicrophone
        case .output: nil
        }
    }

    func commandRoute() {
        let target = wantedRoute.flatMap { terminal(at: $0) }?.identifier
        // A path that is not open yet keeps the old route: the alternative would be silence.
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
                if terminal.isStandby, standby == kind { continue }
                terminal.phase = .waitingForCut
            case .waitingForCut: break
            }
            // Its successor is about to be opened.
            if routed == terminal.identifier, !preparing.isDisjoint(with: wantedPaths) { continue }
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
                "no audio came from the new device within a second: closing \(terminal.endpoint) anyway")
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
}
