import AudioEngine
import BTCallAPI
import BluetoothTypes
package import Configuration
package import ControlLoop
package import DBus

/// `org.btcall.Audio1` at `/org/btcall/audio`: what goes to the far end beside the microphone, and what was counted.
@ControlPlane
package final class AudioObject {
    private let graph: AudioGraph
    private let audio: CallAudio
    package let bus: BusConnection
    package let voice: VoiceControl
    package let settings: Settings
    package let applications: ApplicationAudio
    package let announcements: Announcements
    private let mute: MuteState
    private let microphone: MicrophoneControl
    private let enabled: MicrophoneSetting
    package let manual: ManualRendering
    package let taps: CallTaps
    /// Something that is kept over a restart has been set.
    private let onPreference: @ControlPlane () -> Void

    package init(
        bus: BusConnection, graph: AudioGraph, audio: CallAudio, applications: ApplicationAudio,
        announcements: Announcements, mute: MuteState, voice: VoiceControl, microphone: MicrophoneControl,
        enabled: MicrophoneSetting, manual: ManualRendering, taps: CallTaps, settings: Settings,
        onPreference: @escaping @ControlPlane () -> Void
    ) {
        self.manual = manual
        self.taps = taps
        self.bus = bus
        self.graph = graph
        self.audio = audio
        self.applications = applications
        self.announcements = announcements
        self.mute = mute
        self.voice = voice
        self.settings = settings
        self.microphone = microphone
        self.enabled = enabled
        self.onPreference = onPreference
        voice.onChange = { [weak self] names in self?.changed(names) }
        microphone.onChange = { [weak self] name in self?.changed(name) }
        bus.export([interface()], at: BTCallPath.audio)
    }

    private func interface() -> ExportedInterface {
        let applications = applications
        let mute = mute
        typealias Name = BTCallName.Audio
        return ExportedInterface(
            BTCallName.Interface.audio,
            methods: [
                .init(Name.openInjection, in: [("options", "a{sv}")], out: [("audio", "h")]) {
                    call async throws(BusError) in
                    try reply { () throws(APIError) in
                        let options = try Fields(argument(call, 0), of: "options")
                        let isStream = try options.optionalBool("stream") ?? false
                        let format = try AudioFormat(options: options)
                        return [
                            .unixDescriptor(try applications.open(format, isStream: isStream, of: call.sender))
                        ]
                    }
                },
                openPlayback(),
            ] + microphoneMethods(microphone) + Self.methods(manual, taps) + Self.levelMethods(graph.engine),
            signals: [.init(Name.speakingWhileMuted, [])] + Self.signals,
            properties: voiceProperties() + [
                .init(
                    Name.statistics, "a{sv}", changes: .silent,
                    get: { [weak self] in .vardict(self?.statistics().fields ?? [:]) }),
                volume(Name.micVolume, { applications.microphoneVolume }) { volume throws(APIError) in
                    try applications.setMicrophoneVolume(volume)
                },
                volume(Name.appVolume, { applications.applicationVolume }) { volume throws(APIError) in
                    try applications.setApplicationVolume(volume)
                },
                .init(
                    Name.muteMode, "s", get: { .string(mute.mode.rawValue) },
                    set: { [weak self] value throws(BusError) in
                        mute.mode = try Self.muteMode(value)
                        self?.changed(Name.muteMode)
                        self?.onPreference()
                    }),
            ] + microphoneProperties(microphone, enabled))
    }

    private static func muteMode(_ value: Value) throws(BusError) -> MuteMode {
        do throws(APIError) {
            let word = try TextLimit.word.check(value.stringValue ?? "", BTCallName.Audio.muteMode)
            if let mode = MuteMode(rawValue: word) { return mode }
            let accepted = MuteMode.allCases.map(\.rawValue).joined(separator: ", ")
            throw APIError(.invalidArgument, "the mute mode \"\(word)\" is not accepted; accepted: \(accepted)")
        } catch {
            throw error.busError
        }
    }

    private func volume(
        _ name: String, _ get: @escaping @ControlPlane () -> Double,
        _ set: @escaping @ControlPlane (Double) throws(APIError) -> Void
    ) -> ExportedInterface.Property {
        .init(
            name, "d", get: { .double(get()) },
            set: { [weak self] value throws(BusError) in
                do throws(APIError) {
                    try set(value.doubleValue ?? -1)
                } catch {
                    throw error.busError
                }
                self?.changed(name)
                self?.onPreference()
            })
    }

    /// By somebody else than a client on the bus.
    package func microphoneVolumeChanged() { changed(BTCallName.Audio.micVolume) }

    private func changed(_ property: String) { changed([property]) }

    private func changed(_ properties: [String]) {
        bus.propertiesChanged(path: BTCallPath.audio, interface: BTCallName.Interface.audio, properties)
    }

    private func statistics() -> AudioStatistics {
        let counters = graph.engine.counters()
        var statistics = AudioStatistics()
        statistics.isRealtime = graph.engine.isRealtime
        statistics.cardQueueMs = UInt64(clamping: graph.engine.playbackQueue.milliseconds)
        statistics.lateTicks = UInt64(clamping: counters.lateWakeUps)
        for counter in counters.terminals {
            guard let endpoint = graph.endpoint(ofTerminal: counter.id), let word = DeviceWord(endpoint.description)
            else {
                continue
            }
            var terminal = AudioStatistics.Terminal(
                id: counter.id, device: word, kind: counter.isLink ? .link : counter.bitpool > 0 ? .stream : .path,
                codec: graph.codec(ofTerminal: counter.id)?.description)
            terminal.packetBytes = UInt32(clamping: counter.packetBytes)
            terminal.packetsReceived = UInt64(clamping: counter.packetsReceived)
            terminal.packetsSent = UInt64(clamping: counter.packetsSent)
            terminal.framesConcealed = UInt64(clamping: counter.framesConcealed)
            terminal.sequenceGaps = UInt64(clamping: counter.sequenceGaps)
            terminal.underruns = UInt64(clamping: counter.underrunFrames)
            terminal.xruns = UInt64(clamping: counter.playbackXruns + counter.captureXruns)
            terminal.droppedBlocks = UInt64(clamping: counter.overrunFrames)
            terminal.driftPPM = counter.driftPPM
            terminal.queuedMs = Double(counter.queuedMilliseconds)
            terminal.silentEvents = UInt64(clamping: counter.silences)
            terminal.packetsWaited = UInt64(clamping: counter.packetsWaited)
            terminal.bitpool = UInt32(clamping: counter.bitpool)
            statistics.terminals.append(terminal)
            statistics.lost += terminal.framesConcealed + terminal.underruns + terminal.xruns + terminal.droppedBlocks
            statistics.lost += UInt64(clamping: counter.sendFailures)
        }
        for counter in counters.calls {
            guard let path = audio.paths[counter.id] else { continue }
            var call = AudioStatistics.Call(call: path)
            call.blocksIn = UInt64(clamping: counter.blocksReceived)
            call.blocksOut = UInt64(clamping: counter.blocksSent)
            call.missing = UInt64(clamping: counter.blocksMissing)
            call.dropped = UInt64(clamping: counter.blocksDropped)
            statistics.calls.append(call)
            statistics.lost += call.missing + call.dropped + UInt64(clamping: counter.blocksUnsent)
        }
        for counter in counters.injections {
            guard let owner = applications.owner(of: counter.id) else { continue }
            var injection = AudioStatistics.Injection(owner: owner)
            injection.blocks = UInt64(clamping: counter.blocksTaken)
            injection.missing = UInt64(clamping: counter.blocksMissing)
            injection.bad = UInt64(clamping: counter.blocksBad)
            statistics.injections.append(injection)
        }
        addApplications(counters, to: &statistics)
        return statistics
    }
}
