import AudioEngine
package import AudioPaths
package import BoardControl
package import Configuration
package import ControlLoop
import Routing

/// Opens the sound cards of a configuration for a moment, as the daemon would for a call: `btcalld --check --devices`.
@ControlPlane
package struct DeviceTrial {
    /// One line of the result.
    package struct Finding: Equatable {
        package let text: String
        package let isWell: Bool
    }

    private let configuration: Configuration
    private let paths: any PathOpening
    private let board: any BoardOpening

    package init(_ configuration: Configuration, paths: any PathOpening, board: any BoardOpening) {
        self.configuration = configuration
        self.paths = paths
        self.board = board
    }

    /// - Returns: an empty list when the configuration names no sound card.
    package func findings() -> [Finding] {
        paths.setMixing(configuration.mixesWithOthers)
        var findings: [Finding] = []
        for kind in LocalDevice.allCases {
            guard let device = configuration.localDevices[kind] else { continue }
            let section = "[device \(kind)]"
            findings += attempt(section) { () throws(PathError) in try paths.openPath(kind) }
            if let mixer = device.mixer, let pcm = device.pcm { findings.append(self.mixer(mixer, pcm, section)) }
        }
        if let name = configuration.ring.playback {
            findings += attempt("[ring]") { () throws(PathError) in try paths.openOutput(.pcm(name)) }
        }
        return findings
    }

    private func attempt(_ section: String, _ open: () throws(PathError) -> OpenPath) -> [Finding] {
        do throws(PathError) {
            let path = try open()
            defer { path.close() }
            guard case .path(let streams) = path.terminal else {
                return [Finding(text: "\(section) opened: \(path.summary)", isWell: true)]
            }
            return Self.lines(streams).map { Finding(text: "\(section) \($0)", isWell: true) }
        } catch {
            return [Finding(text: "\(section) cannot be opened: \(error.what); \(error.remedy)", isWell: false)]
        }
    }

    /// One line for each direction.
    private static func lines(_ path: ALSAPath) -> [String] {
        func line(
            _ direction: String, _ rate: Int, _ channels: Int, _ format: String, _ period: Int, _ buffer: Int
        ) -> String {
            let perMillisecond = Double(max(rate, 1)) / 1000
            let times = [period, buffer].map { "\((Double($0) / perMillisecond * 10).rounded() / 10) ms" }
            let channelText = channels == 1 ? "1 channel" : "\(channels) channels"
            return "\(direction) opened: \(rate) Hz, \(channelText), \(format), period \(times[0]), buffer \(times[1])"
        }
        var lines: [String] = []
        if path.playback != nil {
            lines.append(
                line(
                    "playback", path.playbackRate, path.playbackChannels, "\(path.playbackFormat)",
                    path.playbackPeriodFrames, path.playbackBufferFrames))
        }
        if path.capture != nil {
            lines.append(
                line(
                    "capture", path.captureRate, path.captureChannels, "\(path.captureFormat)",
                    path.capturePeriodFrames, path.captureBufferFrames))
        }
        return lines
    }

    private func mixer(_ name: String, _ pcm: String, _ section: String) -> Finding {
        do throws(BoardError) {
            let mixer = try board.openMixer(name, pcm: pcm)
            mixer.close()
            return Finding(text: "\(section) mixer \(name) exists", isWell: true)
        } catch {
            return Finding(text: "\(section) mixer \(name): \(error.what); \(error.remedy)", isWell: false)
        }
    }
}
