import ALSA
import AudioEngine
package import ControlLoop
package import Routing

/// Local devices on real sound cards, as the configuration names them.
@ControlPlane
package final class ALSAPathOpener: PathOpening {
    private let devices: [LocalDevice: Configuration.SoundCard]
    private let periodMilliseconds: Int

    package init(configuration: Configuration) {
        devices = configuration.localDevices
        periodMilliseconds = configuration.periodMilliseconds
    }

    package func openPath(_ kind: LocalDevice) throws(PathError) -> OpenPath {
        guard let device = devices[kind] else { throw Self.notConfigured(kind) }
        do throws(ALSAError) {
            let playback: PCMHandle? = if let name = device.playback { try open(name, .playback) } else { nil }
            let capture: PCMHandle? = if let name = device.capture { try open(name, .capture) } else { nil }
            var path = ALSAPath()
            path.playback = playback?.pcm
            path.playbackRate = playback?.rate ?? 0
            path.playbackChannels = playback?.channels ?? 0
            path.playbackPeriodFrames = playback?.periodFrames ?? 0
            path.playbackBufferFrames = playback?.bufferFrames ?? 0
            path.capture = capture?.pcm
            path.captureRate = capture?.rate ?? 0
            path.captureChannels = capture?.channels ?? 0
            path.capturePeriodFrames = capture?.periodFrames ?? 0
            path.captureBufferFrames = capture?.bufferFrames ?? 0
            let summary = [playback, capture].compactMap { $0.map { "\($0.device) \($0.rate) Hz" } }.joined(
                separator: ", ")
            return OpenPath(terminal: .path(path), summary: summary) {
                playback?.close()
                capture?.close()
            }
        } catch {
            throw Self.error(kind, error)
        }
    }

    package func absence(of kind: LocalDevice) -> PathError? {
        do throws(PathError) {
            try openPath(kind).close()
            return nil
        } catch {
            return error
        }
    }

    private func open(_ name: String, _ direction: PCMHandle.Direction) throws(ALSAError) -> PCMHandle {
        try PCMHandle(name, direction, PCMConfiguration(periodMilliseconds: periodMilliseconds))
    }

    private static func error(_ kind: LocalDevice, _ error: ALSAError) -> PathError {
        switch error {
        case .missing(let name, let advice):
            PathError(device: kind, what: "there is no ALSA device \(name)", remedy: advice)
        case .busy(let name, let advice): PathError(device: kind, what: "\(name) is in use", remedy: advice)
        case .unsupported, .failed:
            PathError(
                device: kind, what: "\(error)",
                remedy: "correct [device \(kind.rawValue)] in the configuration, or see `dmesg` for the card")
        }
    }

    static func notConfigured(_ kind: LocalDevice) -> PathError {
        PathError(
            device: kind, what: "there is no section [device \(kind)] in the configuration",
            remedy: "name its ALSA devices there: playback = hw:0,0 and capture = hw:0,0 (see `aplay -l`)")
    }
}
