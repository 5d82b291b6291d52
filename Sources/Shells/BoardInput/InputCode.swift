/// One key or switch of an input device, as `linux/input-event-codes.h` numbers them.
package struct InputCode: Hashable, Sendable {
    package enum Kind: String, Hashable, Sendable {
        case key
        case `switch`

        /// The event's type: EV_KEY or EV_SW.
        package var type: UInt16 {
            switch self {
            case .key: 1
            case .switch: 5
            }
        }
    }

    package let kind: Kind
    package let number: UInt16

    package init(_ kind: Kind, _ number: UInt16) {
        self.kind = kind
        self.number = number
    }

    /// Parses a name of the table (`KEY_PHONE`), or `key:NUMBER` and `switch:NUMBER` for other codes; nil for anything else.
    package init?(_ text: some StringProtocol) {
        if let known = Self.table.first(where: { $0.name == text }) {
            self = known.code
            return
        }
        let parts = text.split(separator: ":", omittingEmptySubsequences: false)
        guard parts.count == 2, let kind = Kind(rawValue: String(parts[0])), let number = UInt16(parts[1]),
            number < Self.limit
        else { return nil }
        self.init(kind, number)
    }

    /// KEY_CNT; there are far fewer switches.
    package static let limit: UInt16 = 0x300

    package static let headphoneInserted = InputCode(.switch, 0x02)
    package static let microphoneInserted = InputCode(.switch, 0x04)
    package static let phone = InputCode(.key, 169)

    /// Keys and switches that handsets, cradles and jacks are wired to, and those of pedals and talk keys.
    private static let table: [(name: String, code: InputCode)] = [
        ("KEY_PHONE", phone), ("KEY_PICKUP_PHONE", InputCode(.key, 0x1BD)),
        ("KEY_HANGUP_PHONE", InputCode(.key, 0x1BE)), ("KEY_CONNECT", InputCode(.key, 218)),
        ("KEY_PROG1", InputCode(.key, 148)), ("KEY_PROG2", InputCode(.key, 149)), ("KEY_PROG3", InputCode(.key, 202)),
        ("KEY_PROG4", InputCode(.key, 203)), ("BTN_0", InputCode(.key, 0x100)), ("BTN_1", InputCode(.key, 0x101)),
        ("BTN_2", InputCode(.key, 0x102)), ("BTN_3", InputCode(.key, 0x103)), ("SW_LID", InputCode(.switch, 0x00)),
        ("SW_TABLET_MODE", InputCode(.switch, 0x01)), ("SW_HEADPHONE_INSERT", headphoneInserted),
        ("SW_RFKILL_ALL", InputCode(.switch, 0x03)), ("SW_MICROPHONE_INSERT", microphoneInserted),
        ("SW_DOCK", InputCode(.switch, 0x05)), ("SW_LINEOUT_INSERT", InputCode(.switch, 0x06)),
        ("SW_JACK_PHYSICAL_INSERT", InputCode(.switch, 0x07)), ("SW_VIDEOOUT_INSERT", InputCode(.switch, 0x08)),
        ("SW_CAMERA_LENS_COVER", InputCode(.switch, 0x09)), ("SW_KEYPAD_SLIDE", InputCode(.switch, 0x0A)),
        ("SW_FRONT_PROXIMITY", InputCode(.switch, 0x0B)), ("SW_ROTATE_LOCK", InputCode(.switch, 0x0C)),
        ("SW_LINEIN_INSERT", InputCode(.switch, 0x0D)), ("SW_MUTE_DEVICE", InputCode(.switch, 0x0E)),
        ("SW_PEN_INSERTED", InputCode(.switch, 0x0F)), ("SW_MACHINE_COVER", InputCode(.switch, 0x10)),
        ("KEY_MUTE", InputCode(.key, 113)), ("KEY_MICMUTE", InputCode(.key, 248)),
        ("KEY_PLAYPAUSE", InputCode(.key, 164)), ("KEY_VOICECOMMAND", InputCode(.key, 0x246)),
        ("KEY_F13", InputCode(.key, 183)), ("KEY_F14", InputCode(.key, 184)), ("KEY_F15", InputCode(.key, 185)),
        ("KEY_F16", InputCode(.key, 186)), ("KEY_F17", InputCode(.key, 187)), ("KEY_F18", InputCode(.key, 188)),
        ("KEY_F19", InputCode(.key, 189)), ("KEY_F20", InputCode(.key, 190)), ("KEY_F21", InputCode(.key, 191)),
        ("KEY_F22", InputCode(.key, 192)), ("KEY_F23", InputCode(.key, 193)), ("KEY_F24", InputCode(.key, 194)),
    ]

    /// The names of the table, for messages.
    package static var names: [String] { table.map(\.name) }
}

extension InputCode: CustomStringConvertible {
    /// In the form that `init(_:)` parses.
    package var description: String {
        Self.table.first { $0.code == self }?.name ?? "\(kind.rawValue):\(number)"
    }
}
