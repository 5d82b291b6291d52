package import AudioDSP
import AudioEngine
package import ControlLoop
package import Logging
package import Routing

/// Rings: on the board's ring device while the policy has the local ringer on, and in a headset's link while that rings
/// in-band (routing policy §9). Never where a call is heard, unless the board has one device for both.
@ControlPlane
package final class Ringer {
    /// Longest ring tone that is taken from a file, in seconds; the rest of a longer one is left out.
    private static let longestSeconds = 60
    /// The built-in tone: two sines that small loudspeakers play well.
    private static let frequencies = [880, 1_109]
    private static let peak = 0.9

    private let graph: AudioGraph
    private let problems: ProblemList
    private let logger: Logger
    package var configuration: RingConfiguration
    private var present = Ringing.none
    private var local: UInt32?
    private var headset: UInt32?

    /// A telephony application rings by itself, on the ALSA PCM `btcall:ring`: the board's own ringer is silent meanwhile.
    package var isReplaced = false {
        didSet { update() }
    }

    package init(graph: AudioGraph, configuration: RingConfiguration, problems: ProblemList, logger: Logger) {
        self.graph = graph
        self.configuration = configuration
        self.problems = problems
        self.logger = logger
    }

    /// Rings as the policy wants, or not at all.
    package func follow(_ ringing: Ringing) {
        present = ringing
        update()
    }

    private func update() {
        let isInband = present.headset == .inband && !isReplaced
        let device = present.local && !isReplaced ? configuration.output : nil
        if let device {
            // In the headset's link it rings already.
            if local == nil { local = ring(at: .output(device, joins: !isInband)) }
        } else if let playing = local {
            graph.endPlayback(playing)
            local = nil
        }
        if isInband {
            if headset == nil { headset = ring(at: .route) }
        } else if let playing = headset {
            graph.endPlayback(playing)
            headset = nil
        }
    }

    private func ring(at place: PlaybackPlace) -> UInt32? {
        var manner = PlaybackManner()
        manner.volume = configuration.gain
        do throws(AudioEngineError) {
            return try graph.play(source(), manner, at: place)
        } catch {
            logger.error("it does not ring: \(error)")
            return nil
        }
    }

    private func source() -> PlaybackSource {
        if let file = configuration.file, let samples = samples(file) { return .samples(samples, loops: true) }
        return .tone(ToneSpecification(Self.frequencies, cadence: configuration.cadence, peak: Self.peak))
    }

    /// Nil when the file cannot be used, which is a problem of the daemon until it can.
    private func samples(_ file: String) -> [Int16]? {
        do throws(RingFileError) {
            let content = try RingFile.read(file)
            problems.end("ring.file")
            let longest = content.rate * Self.longestSeconds
            guard content.samples.count <= longest else {
                logger.notice("\(file) is longer than \(Self.longestSeconds) s: the rest does not ring")
                return Array(content.samples(atRate: graph.busRate).prefix(graph.busRate * Self.longestSeconds))
            }
            return content.samples(atRate: graph.busRate)
        } catch {
            problems.begin(
                "ring.file", what: "\(file): \(error.what)",
                remedy:
                    "name a WAV file in [ring] file that btcalld can read; it rings with the built-in tone meanwhile")
            return nil
        }
    }
}

/// What is wrong with a ring tone's file.
package struct RingFileError: Error, Equatable {
    package let what: String
}

/// A WAV file as a ring tone.
package enum RingFile {
    /// 60 s of two channels at 48 kHz, and what stands before them.
    private static let mostBytes = 12 << 20
    private static let rates = 8_000...48_000

    /// - Throws: for what is no 16-bit PCM with one or two channels and 8000 to 48000 frames per second, or has none.
    package static func read(_ path: String) throws(RingFileError) -> WaveContent {
        let bytes = try bytes(path)
        let content: WaveContent
        do throws(WaveContent.Problem) {
            content = try WaveContent(bytes)
        } catch {
            throw RingFileError(what: error.description)
        }
        guard rates.contains(content.rate) else {
            throw RingFileError(what: "has \(content.rate) frames per second; accepted: 8000 to 48000")
        }
        guard !content.samples.isEmpty else { throw RingFileError(what: "has no audio data") }
        return content
    }

    /// The beginning of the file, as much as a ring tone may have.
    private static func bytes(_ path: String) throws(RingFileError) -> [UInt8] {
        do throws(FileRefusal) {
            return try ForeignFile.read(path, atMost: mostBytes, .leftOut)
        } catch {
            throw RingFileError(what: error.what)
        }
    }
}
