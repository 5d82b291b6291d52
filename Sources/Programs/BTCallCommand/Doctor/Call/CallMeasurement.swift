import BTCall
import Glibc

/// Measurements of the doctor's test call.
struct CallMeasurement: Equatable, Sendable {
    /// Level of the microphone while the device carried the call.
    struct Microphone: Equatable, Sendable {
        /// RMS in dB below full scale; nil for digital silence.
        let level: Double?
        let peak: Double?

        /// Largest sample that counts as silence: converters and codecs produce up to two steps of 16 bits.
        static let silence = 2
        /// Largest sample of the noise that btcalld sends while a headset's packets do not come in time: -50 dB.
        static let noise = 103

        /// - Parameters:
        ///   - samples: at the call's rate, in whole blocks of 10 ms.
        ///   - concealedMs: audio that btcalld made up while packets were missing or, on a busy machine, late. Noise of that
        ///     time says nothing about the microphone.
        init(_ samples: some Collection<Int16>, concealedMs: Int = 0) {
            let highest = samples.reduce(0) { max($0, Int($1.magnitude)) }
            guard highest > Self.silence, !Self.isNoise(samples, upTo: highest, concealedMs) else {
                (level, peak) = (nil, nil)
                return
            }
            let power = samples.reduce(0) { $0 + Double($1) * Double($1) } / Double(samples.count)
            level = 10 * log10(power) - 20 * log10(32768)
            peak = 20 * log10(Double(highest) / 32768)
        }

        /// Whether all that is not silent can be the noise of btcalld, by its loudness and its length.
        private static func isNoise(
            _ samples: some Collection<Int16>, upTo highest: Int, _ concealedMs: Int
        ) -> Bool {
            guard highest <= noise else { return false }
            var heardMs = 0
            var rest = samples[...]
            while !rest.isEmpty {
                let block = rest.prefix(LoopbackCall.rate / 100)
                if block.contains(where: { Int($0.magnitude) > silence }) { heardMs += 10 }
                rest = rest.dropFirst(block.count)
            }
            // A packet is shorter than the block that its noise fills, whose end may reach into the next block.
            return heardMs <= 3 * concealedMs
        }
    }

    /// The requested device; `.none` when none was requested.
    var wanted = DeviceChoice.none
    /// The requested device, otherwise the device chosen for the call before it began; `.none` when there was none.
    var expected = DeviceChoice.none
    /// Reason why `expected` did not carry the call, in the words of `btcall why`; nil when it did.
    var why: String?
    /// Whether a link to `expected` was set up or attempted.
    var wasTried = false
    /// Whether `expected` ever carried the call.
    var hasCarried = false
    /// The last device that carried the call; nil when none did.
    var link: CallLink?
    /// The name of that device in `btcall devices`.
    var name: String?
    /// Packets received on that link, and those that were damaged or missing; 0 for a sound card.
    var packets = 0
    var lost = 0
    /// Blocks of 10 ms received from btcalld, and sent to it.
    var blocksReceived = 0
    var blocksSent = 0
    var isMuted = false
    var microphone = Microphone([])
    var chirps = 0
    /// Delay of each chirp that returned, in milliseconds.
    var delays: [Double] = []

    /// Lost packets in per cent.
    var lossPercent: Double { packets + lost == 0 ? 0 : 100 * Double(lost) / Double(packets + lost) }

    /// Median delay in milliseconds; nil when no chirp returned.
    var delay: Double? { delays.isEmpty ? nil : delays.sorted()[delays.count / 2] }

    /// Whether the expected device was the last that carried the call.
    var isCarried: Bool {
        guard let link else { return false }
        return expected == .none || link.device.isMeant(by: expected)
    }
}

/// Outcome of the test call.
enum CallOutcome: Equatable, Sendable {
    /// No btcalld or no bus; the library's message.
    case noDaemon(String)
    /// Other calls are up: their parties and applications.
    case busy([String])
    /// The requested device is not available; btcalld's message.
    case unavailable(DeviceChoice, String)
    /// btcalld refused or dropped the call.
    case refused(String)
    case measured(CallMeasurement)
}

extension DeviceChoice {
    /// `bluetooth` matches every headset.
    func isMeant(by wanted: DeviceChoice) -> Bool {
        self == wanted || wanted == .bluetooth && isHeadset
    }

    var isHeadset: Bool { description.hasPrefix(DeviceChoice.bluetooth.description) }
}
