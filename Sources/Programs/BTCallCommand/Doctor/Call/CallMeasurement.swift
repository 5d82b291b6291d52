import BTCall
import Glibc

/// What a call of the doctor's own has shown.
struct CallMeasurement: Equatable, Sendable {
    /// What the microphone gave while the device carried the call.
    struct Microphone: Equatable, Sendable {
        /// In dB below full scale; nil for digital silence.
        let level: Double?
        let peak: Double?

        /// What a converter or a codec makes of nothing at all: up to two steps of 16 bits.
        static let silence = 2

        init(_ samples: some Collection<Int16>) {
            let highest = samples.reduce(0) { max($0, Int($1.magnitude)) }
            guard highest > Self.silence else {
                (level, peak) = (nil, nil)
                return
            }
            let power = samples.reduce(0) { $0 + Double($1) * Double($1) } / Double(samples.count)
            level = 10 * log10(power) - 20 * log10(32768)
            peak = 20 * log10(Double(highest) / 32768)
        }
    }

    /// The device that was asked for; `.none` when none was.
    var wanted = DeviceChoice.none
    /// The device that was asked for, else where the call would have gone before it began; `.none` for nowhere.
    var expected = DeviceChoice.none
    /// Why `expected` did not carry the call, in the words of `btcall why`; nil when it did.
    var why: String?
    /// A link to `expected` was set up, or tried.
    var wasTried = false
    /// `expected` carried the call at some time.
    var hasCarried = false
    /// What carried the call at last; nil when nothing did.
    var link: CallLink?
    /// The name of that device, as `btcall devices` has it.
    var name: String?
    /// Packets of that link that came, and those that came damaged or not at all; 0 for a sound card.
    var packets = 0
    var lost = 0
    /// Blocks of 10 ms that btcalld gave, and that it took.
    var blocksReceived = 0
    var blocksSent = 0
    var isMuted = false
    var microphone = Microphone([])
    var chirps = 0
    /// How long each chirp took that came back, in milliseconds.
    var delays: [Double] = []

    /// Of the packets, in per cent.
    var lossPercent: Double { packets + lost == 0 ? 0 : 100 * Double(lost) / Double(packets + lost) }

    /// The one in the middle, in milliseconds; nil when no chirp came back.
    var delay: Double? { delays.isEmpty ? nil : delays.sorted()[delays.count / 2] }

    /// The device that was expected is the one that carried the call at last.
    var isCarried: Bool {
        guard let link else { return false }
        return expected == .none || link.device.isMeant(by: expected)
    }
}

/// What became of the call.
enum CallOutcome: Equatable, Sendable {
    /// There is no btcalld, or no bus; what the library says.
    case noDaemon(String)
    /// Other calls are up: who with, and by whom.
    case busy([String])
    /// The device that was asked for is not there; what btcalld says.
    case unavailable(DeviceChoice, String)
    /// btcalld did not let the call be made, or dropped it.
    case refused(String)
    case measured(CallMeasurement)
}

extension DeviceChoice {
    /// `bluetooth` means every headset.
    func isMeant(by wanted: DeviceChoice) -> Bool {
        self == wanted || wanted == .bluetooth && isHeadset
    }

    var isHeadset: Bool { description.hasPrefix(DeviceChoice.bluetooth.description) }
}
