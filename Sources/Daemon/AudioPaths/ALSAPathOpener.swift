import ALSA
import AudioDSP
import AudioEngine
package import Configuration
package import ControlLoop
package import Routing

/// Opens local devices on real sound cards, as the configuration names them.
@ControlPlane
package final class ALSAPathOpener: PathOpening {
    private let devices: [LocalDevice: Configuration.SoundCard]
    private var periodMilliseconds: Int
    private var usesWiredMicrophone = true
    /// Names of microphones that are open separately from their device.
    private var openMicrophones: [String] = []
    /// Names of devices that are open to play beside the calls.
    private var openOutputs: [String] = []
    private var isMixing = false

    package init(configuration: Configuration) {
        devices = configuration.localDevices
        periodMilliseconds = configuration.periodMilliseconds
    }

    package func openPath(_ kind: LocalDevice) throws(PathError) -> OpenPath {
        guard let device = devices[kind] else { throw Self.notConfigured(kind) }
        return try openPath(kind, playback: device.playback, capture: captureName(kind, device))
    }

    private func openPath(
        _ kind: LocalDevice, playback playbackName: String?, capture captureName: String?
    ) throws(PathError) -> OpenPath {
        do throws(ALSAError) {
            let playback: PCMHandle? = if let playbackName { try open(playbackName, .playback) } else { nil }
            let capture: PCMHandle? = if let captureName { try open(captureName, .capture) } else { nil }
            var path = ALSAPath()
            path.playback = playback?.pcm
            path.playbackRate = playback?.rate ?? 0
            path.playbackChannels = playback?.channels ?? 0
            path.playbackFormat = Self.format(playback)
            path.playbackPeriodFrames = playback?.periodFrames ?? 0
            path.playbackBufferFrames = playback?.bufferFrames ?? 0
            path.capture = capture?.pcm
            path.captureRate = capture?.rate ?? 0
            path.captureChannels = capture?.channels ?? 0
            path.captureFormat = Self.format(capture)
            path.capturePeriodFrames = capture?.periodFrames ?? 0
            path.captureBufferFrames = capture?.bufferFrames ?? 0
            let summary = [playback, capture].compactMap { $0.map { "\($0.device) \($0.format) \($0.rate) Hz" } }
                .joined(
                    separator: ", ")
            return OpenPath(terminal: .path(path), summary: summary) {
                playback?.close()
                capture?.close()
            }
        } catch {
            throw Self.error(kind, error)
        }
    }

    package func microphone(of kind: LocalDevice) -> String? { devices[kind].flatMap { captureName(kind, $0) } }

    package func openPlayback(_ kind: LocalDevice) throws(PathError) -> OpenPath {
        guard let device = devices[kind] else { throw Self.notConfigured(kind) }
        return try openPath(kind, playback: device.playback, capture: nil)
    }

    package func canStandBy(_ kind: LocalDevice) -> Bool { devices[kind]?.playback != nil }

    package func openCapture(_ kind: LocalDevice) throws(PathError) -> OpenCapture {
        guard let name = microphone(of: kind) else {
            throw PathError(
                device: kind, what: "no microphone is configured",
                remedy: "name its ALSA device: capture = hw:0,0 in [device \(kind)] (see `arecord -l`)")
        }
        do throws(ALSAError) {
            let handle = try open(name, .capture)
            openMicrophones.append(name)
            let stream = ALSACapture(
                pcm: handle.pcm, rate: handle.rate, channels: handle.channels, format: Self.format(handle),
                periodFrames: handle.periodFrames, bufferFrames: handle.bufferFrames)
            return OpenCapture(stream: stream, summary: "\(handle.device) \(handle.format) \(handle.rate) Hz") {
                [weak self] in
                handle.close()
                if let self, let index = openMicrophones.firstIndex(of: name) { openMicrophones.remove(at: index) }
            }
        } catch {
            throw Self.error(kind, error)
        }
    }

    package func absence(of kind: LocalDevice) -> PathError? {
        guard let device = devices[kind] else { return Self.notConfigured(kind) }
        do throws(PathError) {
            // The microphone may be the device's own or the board's. A stream that is open here already is present.
            let capture = captureName(kind, device).flatMap { openMicrophones.contains($0) ? nil : $0 }
            let playback = device.playback.flatMap { openOutputs.contains($0) ? nil : $0 }
            try openPath(kind, playback: playback, capture: capture).close()
            return nil
        } catch {
            return error
        }
    }

    package func openOutput(_ device: OutputDevice) throws(PathError) -> OpenPath {
        switch device {
        case .pcm(let name):
            do throws(PathError) {
                return try openOutput(.speakerphone, name)
            } catch {
                // This PCM belongs to no local device, so a remedy that names a section would mislead.
                let remedy = "correct [ring] playback in the configuration, see `aplay -L`"
                throw PathError(
                    device: error.device, what: error.what, remedy: error.cause == .busy ? error.remedy : remedy,
                    cause: error.cause)
            }
        case .local(let kind):
            guard let card = devices[kind] else { throw Self.notConfigured(kind) }
            guard let name = card.playback else {
                throw PathError(
                    device: kind, what: "[device \(kind)] has no playback", remedy: "name another one in [ring]")
            }
            return try openOutput(kind, name)
        case .bluetooth:
            // `AudioGraph` takes streams from `StreamOpening`.
            throw PathError(
                device: .speakerphone, what: "\(device) is no sound card", remedy: "name a device of `aplay -L`")
        }
    }

    private func openOutput(_ kind: LocalDevice, _ name: String) throws(PathError) -> OpenPath {
        let path = try openPath(kind, playback: name, capture: nil)
        openOutputs.append(name)
        return OpenPath(terminal: path.terminal, summary: path.summary) { [weak self] in
            path.close()
            if let self, let index = openOutputs.firstIndex(of: name) { openOutputs.remove(at: index) }
        }
    }

    package func setMixing(_ isOn: Bool) { isMixing = isOn }

    package func setPeriod(_ milliseconds: Int) { periodMilliseconds = milliseconds }

    package func setWiredMicrophone(_ isOwn: Bool) -> Bool {
        guard let wired = devices[.wiredHeadset], isOwn != usesWiredMicrophone else { return false }
        let old = captureName(.wiredHeadset, wired)
        usesWiredMicrophone = isOwn
        return captureName(.wiredHeadset, wired) != old
    }

    /// Microphone for a device. Headphones without a microphone, or on a card that cannot record, use the board's; if the
    /// board has none, they use what the socket has.
    private func captureName(_ kind: LocalDevice, _ device: Configuration.SoundCard) -> String? {
        guard kind == .wiredHeadset, !usesWiredMicrophone || device.capture == nil else { return device.capture }
        return devices[.speakerphone]?.capture ?? devices[.earpiece]?.capture ?? device.capture
    }

    private func open(_ name: String, _ direction: PCMHandle.Direction) throws(ALSAError) -> PCMHandle {
        let name = isMixing ? SharedPCM.name(of: name, direction) : name
        return try PCMHandle(name, direction, PCMConfiguration(periodMilliseconds: periodMilliseconds))
    }

    private static func format(_ handle: PCMHandle?) -> SampleFormat {
        switch handle?.format {
        case .s16, nil: .s16
        case .s32: .s32
        case .s24: .s24
        case .s24Packed: .s24Packed
        case .f32: .f32
        }
    }

    private static func error(_ kind: LocalDevice, _ error: ALSAError) -> PathError {
        switch error {
        case .missing(let name, let advice):
            PathError(device: kind, what: "there is no ALSA device \(name)", remedy: advice, cause: .missing)
        case .busy(let name, let advice):
            PathError(device: kind, what: "\(name) is in use", remedy: advice, cause: .busy)
        case .unsupported, .lacks, .failed:
            PathError(
                device: kind, what: "\(error)",
                remedy: "correct [device \(kind.rawValue)] in the configuration, or see `dmesg` for the card")
        }
    }

    package static func notConfigured(_ kind: LocalDevice) -> PathError {
        PathError(
            device: kind, what: "there is no section [device \(kind)] in the configuration",
            remedy: "name its ALSA devices there: playback = hw:0,0 and capture = hw:0,0 (see `aplay -l`)")
    }
}
