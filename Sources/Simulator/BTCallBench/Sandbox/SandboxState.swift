/// The displayed state of a sandbox.
package struct SandboxState: Equatable, Sendable {
    package enum Power: String, Sendable {
        case on, off, dead
        /// A sound card: always present.
        case fixed
    }

    package struct Device: Equatable, Sendable {
        package var name: String
        package var power: Power
        /// Loudest sample heard by the person at the device since the last look, 0…32768.
        package var heard = 0

        package init(name: String, power: Power, heard: Int = 0) {
            self.name = name
            self.power = power
            self.heard = heard
        }
    }

    /// The value for `--bus`.
    package var bus: String
    /// The headsets first, in the order of their keys.
    package var devices: [Device] = []
    /// Peak of the audio heard by the far end: the call's microphone.
    package var farEndHeard = 0
    /// Name of the device that carries the call; `none` without one.
    package var route = "none"
    /// Codec and mode of its link.
    package var link = ""
    /// The level of the policy that decided, and the event.
    package var why = ""
    /// One line each.
    package var calls: [String] = []
    package var isMuted = false
    /// The talk mode; nil: a sandbox without talk keys.
    package var talkMode: String?

    package init(bus: String) {
        self.bus = bus
    }
}

/// The actions in a sandbox. The raw value is the key.
package enum SandboxKey: Character, CaseIterable, Sendable {
    case switchFirst = "1"
    case switchSecond = "2"
    case killFirst = "k"
    case killSecond = "l"
    case pressFirst = "b"
    case pressSecond = "n"
    case callOut = "o"
    case callIn = "i"
    case answer = "a"
    case end = "e"
    case farEndHangsUp = "f"
    case mute = "m"
    case talkFirst = "t"
    case talkSecond = "y"
    case talkSerial = "u"
    case talkLowEnergy = "w"

    /// Keys that need a sandbox with talk keys.
    package static let talk: [SandboxKey] = [.talkFirst, .talkSecond, .talkSerial, .talkLowEnergy]

    package var meaning: String {
        switch self {
        case .switchFirst: "headset 1 on/off"
        case .switchSecond: "headset 2 on/off"
        case .killFirst: "headset 1 dies"
        case .killSecond: "headset 2 dies"
        case .pressFirst: "button of headset 1"
        case .pressSecond: "button of headset 2"
        case .callOut: "call out"
        case .callIn: "call in"
        case .answer: "answer"
        case .end: "end calls"
        case .farEndHangsUp: "far end hangs up"
        case .mute: "mute"
        case .talkFirst: "talk key of headset 1"
        case .talkSecond: "talk key of headset 2, its voice link"
        case .talkSerial: "talk button with a serial port"
        case .talkLowEnergy: "talk button of Bluetooth Low Energy"
        }
    }
}
