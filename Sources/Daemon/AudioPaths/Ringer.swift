package import AudioDSP
import AudioEngine
package import Configuration
package import ControlLoop
package import Diagnostics
package import Logging
package import Routing

/// Rings on the board's ring device while the policy has the local ringer on, and in a headset's link while that rings
/// in-band (docs/inside/Routing.md). Never rings where a call is heard, unless the board has one device for both.
@ControlPlane
package final class Ringer {
    /// The built-in tone: two sines that small loudspeakers play well.
    private static let frequencies = [880, 1_109]
    private static let peak = 0.9

    private let graph: AudioGraph
    private let problems: ProblemList
    private let logger: Logger
    package var configuration: RingConfiguration
    /// State of ringing at one place.
    private enum Ring {
        /// The file is being read; the number distinguishes this attempt from earlier ones.
        case reading(UInt64)
        /// Playing; the graph's number of the playback.
        case playing(UInt32)
    }

    private let reader: RingToneReader
    private var present = Ringing.none
    private var local: Ring?
    private var headset: Ring?
    private var lastReading: UInt64 = 0

    /// A telephony application rings on the ALSA PCM `btcall:ring`: the board's own ringer is silent meanwhile.
    package var isReplaced = false {
        didSet { update() }
    }

    package init(graph: AudioGraph, configuration: RingConfiguration, problems: ProblemList, logger: Logger) {
        reader = RingToneReader { file, rate in RingFile.tone(file, atRate: rate) }
        self.graph = graph
        self.configuration = configuration
        self.problems = problems
        self.logger = logger
    }

    /// Rings as the policy wants, or stops.
    package func follow(_ ringing: Ringing) {
        present = ringing
        update()
    }

    private func update() {
        let isInband = present.headset == .inband && !isReplaced
        if let device = present.local && !isReplaced ? configuration.output : nil {
            // It already rings in the headset's link.
            if local == nil { begin(\.local, at: .output(device, joins: !isInband)) }
        } else {
            end(\.local)
        }
        if isInband {
            if headset == nil { begin(\.headset, at: .route) }
        } else {
            end(\.headset)
        }
    }

    private func end(_ ring: ReferenceWritableKeyPath<Ringer, Ring?>) {
        let ended = self[keyPath: ring]
        if case .playing(let playing) = ended { graph.engine.endPlayback(playing) }
        self[keyPath: ring] = nil
    }

    private func begin(_ ring: ReferenceWritableKeyPath<Ringer, Ring?>, at place: PlaybackPlace) {
        guard let file = configuration.file else {
            self[keyPath: ring] = play(builtIn, at: place)
            return
        }
        lastReading += 1
        let number = lastReading
        self[keyPath: ring] = .reading(number)
        reader.read(file, atRate: graph.engine.busRate) { [weak self] outcome in
            // Ringing may have stopped meanwhile, and started again.
            guard let self else { return }
            let waiting = self[keyPath: ring]
            guard case .reading(number) = waiting else { return }
            self[keyPath: ring] = play(source(file, outcome), at: place)
        }
    }

    private func play(_ source: PlaybackSource, at place: PlaybackPlace) -> Ring? {
        var manner = PlaybackManner()
        manner.volume = configuration.gain
        do throws(AudioEngineError) {
            return .playing(try graph.play(source, manner, at: place))
        } catch {
            logger.error("ringing failed: \(error)")
            return nil
        }
    }

    private var builtIn: PlaybackSource {
        .tone(ToneSpecification(Self.frequencies, cadence: configuration.cadence, peak: Self.peak))
    }

    /// Falls back to the built-in tone when the file cannot be used, which is a problem of the daemon until it can.
    private func source(_ file: String, _ outcome: RingToneReader.Outcome) -> PlaybackSource {
        switch outcome {
        case .success(let tone):
            problems.end("ring.file")
            if tone.isCut {
                logger.notice("\(file) is longer than \(RingFile.longestSeconds) s: the rest does not ring")
            }
            return .samples(tone.samples, loops: true)
        case .failure(let error):
            problems.begin(
                "ring.file", what: "\(file): \(error.what)",
                remedy:
                    "name a WAV file in [ring] file that btcalld can read; it rings with the built-in tone meanwhile")
            return builtIn
        }
    }
}

/// What is wrong with a ring tone's file.
package struct RingFileError: Error, Equatable {
    package let what: String

    package init(what: String) {
        self.what = what
    }
}

/// A WAV file as a ring tone.
package enum RingFile {
    /// 60 s of two channels at 48 kHz, and the file's headers.
    private static let mostBytes = 12 << 20
    private static let rates = 8_000...48_000
    /// Longest ring tone in seconds; the rest of a longer one is left out.
    package static let longestSeconds = 60

    /// Reads and converts the beginning of a file.
    package static func tone(_ path: String, atRate rate: Int) -> RingToneReader.Outcome {
        do throws(RingFileError) {
            let content = try read(path)
            let isCut = content.samples.count > content.rate * longestSeconds
            let samples = content.samples(atRate: rate)
            return .success(
                RingTone(samples: isCut ? Array(samples.prefix(rate * longestSeconds)) : samples, isCut: isCut))
        } catch {
            return .failure(error)
        }
    }

    /// - Throws: for a file without 16-bit PCM of one or two channels at 8000 to 48000 Hz, or without audio data.
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
