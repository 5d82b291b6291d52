import AudioEngine
package import AudioPaths
import BTCallDaemon
package import BTCallSimulator
package import BluetoothSockets
package import BluetoothTypes
package import Configuration
package import ControlLoop
import Glibc
package import HeadsetControl
package import Routing

/// Sound cards and voice links for the daemon's real code, all on one simulated clock.
@ControlPlane
package final class SimulatedEnvironment: PathOpening, AudioLinkOpening {
    package var onIncoming: (@ControlPlane (any IncomingAudioLink) -> Void)?
    /// Time that a headset takes to open its link.
    package var linkDelay = Duration.milliseconds(150)

    private struct Headset {
        let name: String
        let codecs: [VoiceCodec]
        let microphone: @Sendable (Int) -> [Int16]
    }

    private let pacer: AudioPacer
    private var cards: [LocalDevice: @Sendable (Int) -> [Int16]] = [:]
    private var headsets: [BluetoothAddress: Headset] = [:]
    /// Streams by the name of their device, in order of opening.
    private var streams: [(name: String, identifier: UInt32)] = []
    private var running: [BluetoothAddress: UInt32] = [:]
    /// Descriptors of headsets that died silently, until they are in reach again.
    private var dead: [BluetoothAddress: [AnyObject]] = [:]
    private var absent: Set<BluetoothAddress> = []
    private var isCancelled = false
    package static let cardRate = 48000

    package init(pacer: AudioPacer) {
        self.pacer = pacer
    }

    /// - Parameter microphone: samples of its microphone at a given rate, from the start of the simulation.
    package func addCard(_ kind: LocalDevice, microphone: @escaping @Sendable (Int) -> [Int16]) {
        cards[kind] = microphone
    }

    package func addHeadset(
        _ address: BluetoothAddress, name: String, codecs: [VoiceCodec],
        microphone: @escaping @Sendable (Int) -> [Int16]
    ) {
        headsets[address] = Headset(name: name, codecs: codecs, microphone: microphone)
    }

    /// Stops the headset's link at once, without notice to anybody.
    package func die(_ address: BluetoothAddress) {
        absent.insert(address)
        guard let stream = running.removeValue(forKey: address) else { return }
        if let kept = pacer.cut(stream, keepingOpen: true) { dead[address, default: []].append(kept) }
    }

    /// Loses one of every `number` packets from a headset's link; 0 loses none.
    package func loseEach(_ number: Int, of address: BluetoothAddress) {
        if let stream = running[address] { pacer.loseEach(number, of: stream) }
    }

    /// Headsets whose loudspeaker lies on their microphone, with the delay in milliseconds.
    package var loops: [BluetoothAddress: Int] = [:]
    /// Headsets whose links open but deliver no audio.
    package var mute: Set<BluetoothAddress> = []
    /// Headsets that close their links before any audio has arrived.
    package var brief: Set<BluetoothAddress> = []

    /// Headsets for which the controller holds an earlier link and refuses another one.
    package var stuck: Set<BluetoothAddress> = []

    /// Brings a headset that died into reach again.
    package func revive(_ address: BluetoothAddress) {
        absent.remove(address)
        dead[address] = nil
    }

    /// Closes the headset's link in order, as its transfer button does.
    package func closeLink(_ address: BluetoothAddress) {
        if let stream = running.removeValue(forKey: address) { pacer.cut(stream) }
    }

    /// Opens a link from the headset's side, with the negotiated codec.
    package func openLink(_ address: BluetoothAddress) {
        onIncoming?(Incoming(peer: address, simulation: self))
    }

    /// Pulls the card: it is no longer found, and its streams fail.
    package func removeCard(_ kind: LocalDevice) {
        cards[kind] = nil
        for stream in streams where stream.name == kind.rawValue { pacer.cut(stream.identifier) }
    }

    /// Cards that another program uses: they are present and cannot be opened.
    package var busyCards: Set<LocalDevice> = []
    /// Whether a card may stand by for a headset: silent, although its one stream records as well.
    package var allowsStandby = false
    /// Devices on one sound card that can be opened only once.
    package var sharedCard: Set<LocalDevice> = []
    private var sharedCardUser: LocalDevice?

    /// Every sound card and headset link that was opened, in order.
    package var opened: [String] { streams.map(\.name) }

    /// The playback of a device, all its streams together, at the device's rate.
    package func played(_ name: String) -> [AudioTimeline] {
        streams.filter { $0.name == name }.compactMap { pacer.timeline(of: $0.identifier) }
    }

    /// The complete playback of a device, at `rate`: where streams overlap, the later one counts unless it is silent.
    package func recording(of name: String, rate: Int) -> [Int16] {
        var all: [Int16] = []
        for timeline in played(name) {
            let part = OfflineResampler.convert(timeline.samples, from: timeline.rate, to: rate)
            if part.count > all.count { all.append(contentsOf: repeatElement(0, count: part.count - all.count)) }
            for index in part.indices where part[index] != 0 { all[index] = part[index] }
        }
        return all
    }

    /// Loudest sample played by a device since the last request, 0…32768: calls, ring tones and announcements.
    package func takePeak(_ name: String) -> Int {
        streams.filter { $0.name == name || $0.name == "output:" + name }
            .reduce(0) { max($0, pacer.takePeak(of: $1.identifier)) }
    }

    /// Drops the playback of a stream that is not recorded.
    private func forget(_ stream: UInt32) {
        guard !pacer.isRecording else { return }
        streams.removeAll { $0.identifier == stream }
        for (address, identifier) in running where identifier == stream { running[address] = nil }
    }

    // MARK: PathOpening

    package func openPath(_ kind: LocalDevice) throws(PathError) -> OpenPath {
        guard let microphone = cards[kind] else {
            throw PathError(device: kind, what: "there is no such card here", remedy: "add it to the simulation")
        }
        guard !busyCards.contains(kind) else {
            throw Self.busy(kind)
        }
        if sharedCard.contains(kind), let user = sharedCardUser {
            throw PathError(device: kind, what: "\(user) has the card", remedy: "give it back first", cause: .busy)
        }
        guard let (ours, theirs) = PacketSocketPair.open() else {
            throw PathError(device: kind, what: "\(SystemError("socketpair"))", remedy: "close other programs")
        }
        let stream = pacer.attach(
            theirs, .card(rate: Self.cardRate), microphone: microphone(Self.cardRate))
        streams.append((kind.rawValue, stream))
        if sharedCard.contains(kind) { sharedCardUser = kind }
        let terminal = TerminalKind.link(
            descriptor: ours, codec: .pcm(rate: Self.cardRate), packetBytesHint: Self.cardRate / 100 * 2)
        return OpenPath(terminal: terminal, summary: "simulated card") { [pacer, weak self] in
            if self?.sharedCardUser == kind { self?.sharedCardUser = nil }
            pacer.cut(stream)
            close(ours)
            self?.forget(stream)
        }
    }

    package func canStandBy(_ kind: LocalDevice) -> Bool { allowsStandby && cards[kind] != nil }

    /// Its stream is named `output:` and the device.
    package func openOutput(_ device: OutputDevice) throws(PathError) -> OpenPath {
        let kind: LocalDevice? = if case .local(let kind) = device { kind } else { nil }
        if let kind {
            guard cards[kind] != nil else {
                throw PathError(device: kind, what: "there is no such card here", remedy: "add it to the simulation")
            }
            guard !busyCards.contains(kind), !(sharedCard.contains(kind) && sharedCardUser != nil) else {
                throw Self.busy(kind)
            }
        }
        guard let (ours, theirs) = PacketSocketPair.open() else {
            throw PathError(
                device: kind ?? .speakerphone, what: "\(SystemError("socketpair"))", remedy: "close other programs")
        }
        let stream = pacer.attach(theirs, .card(rate: Self.cardRate), microphone: [0])
        streams.append(("output:\(device)", stream))
        if let kind, sharedCard.contains(kind) { sharedCardUser = kind }
        let terminal = TerminalKind.link(
            descriptor: ours, codec: .pcm(rate: Self.cardRate), packetBytesHint: Self.cardRate / 100 * 2)
        return OpenPath(terminal: terminal, summary: "simulated card") { [pacer, weak self] in
            if let kind, self?.sharedCardUser == kind { self?.sharedCardUser = nil }
            pacer.cut(stream)
            close(ours)
            self?.forget(stream)
        }
    }

    package func absence(of kind: LocalDevice) -> PathError? {
        if cards[kind] == nil {
            return PathError(device: kind, what: "there is no such card", remedy: "add it", cause: .missing)
        }
        return busyCards.contains(kind) ? Self.busy(kind) : nil
    }

    private static func busy(_ kind: LocalDevice) -> PathError {
        PathError(device: kind, what: "another program uses the card", remedy: "stop it", cause: .busy)
    }

    // MARK: AudioLinkOpening

    package func open(
        _ address: BluetoothAddress, codec: VoiceCodec, timeout: Duration
    ) async throws(AudioLinkError) -> OpenAudioLink {
        isCancelled = false
        guard !stuck.contains(address) else { throw .busy }
        let end = ControlLoop.now.advanced(by: absent.contains(address) ? timeout : linkDelay)
        while ControlLoop.now < end, !isCancelled {
            await ControlLoop.shared.sleep(for: .milliseconds(10))
        }
        guard !isCancelled else { throw .cancelled }
        guard !absent.contains(address) else { throw .timedOut }
        return try makeLink(address, codec)
    }

    private final class Incoming: IncomingAudioLink {
        let peer: BluetoothAddress
        private let simulation: SimulatedEnvironment

        init(peer: BluetoothAddress, simulation: SimulatedEnvironment) {
            self.peer = peer
            self.simulation = simulation
        }

        func accept(codec: VoiceCodec, timeout: Duration) async throws(AudioLinkError) -> OpenAudioLink {
            try simulation.makeLink(peer, codec)
        }

        func reject() {}
    }

    private func makeLink(_ address: BluetoothAddress, _ codec: VoiceCodec) throws(AudioLinkError) -> OpenAudioLink {
        guard let headset = headsets[address], headset.codecs.contains(codec) else { throw .refused }
        guard let (ours, theirs) = PacketSocketPair.open() else { throw .failed(SystemError("socketpair")) }
        if mute.contains(address) || brief.contains(address) {
            let isBrief = brief.contains(address)
            if isBrief { close(theirs) }
            return OpenAudioLink(descriptor: ours, codec: codec, packetBytesHint: 60) {
                close(ours)
                if !isBrief { close(theirs) }
            }
        }
        let stream = pacer.attach(theirs, .link(codec), microphone: headset.microphone(codec.sampleRate))
        if let milliseconds = loops[address] { pacer.loopBack(stream, after: milliseconds) }
        streams.append((headset.name, stream))
        running[address] = stream
        return OpenAudioLink(
            descriptor: ours, codec: codec, packetBytesHint: codec == .cvsd ? 120 : 60,
            handle: UInt16(truncatingIfNeeded: stream)
        ) { [pacer, weak self] in
            pacer.cut(stream)
            close(ours)
            self?.forget(stream)
        }
    }

    package func cancel() { isCancelled = true }
}
