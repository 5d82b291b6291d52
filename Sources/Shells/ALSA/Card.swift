import CALSA
import Glibc

/// A sound card known to the kernel.
package struct Card: Equatable, Sendable {
    package let index: Int
    /// The short name that device names use, as in `hw:Loopback`.
    package let identifier: String
    package let name: String

    /// The present cards, by index. Empty also if the kernel has no sound support.
    package static func all() -> [Card] {
        var cards: [Card] = []
        var index: Int32 = -1
        while snd_card_next(&index) >= 0, index >= 0 {
            if let card = card(at: index) { cards.append(card) }
        }
        return cards
    }

    /// Nil if the card has gone in the meantime.
    private static func card(at index: Int32) -> Card? {
        var control: OpaquePointer?
        guard snd_ctl_open(&control, "hw:\(index)", 0) >= 0 else { return nil }
        defer { snd_ctl_close(control) }
        var information: OpaquePointer?
        guard snd_ctl_card_info_malloc(&information) >= 0 else { return nil }
        defer { snd_ctl_card_info_free(information) }
        guard snd_ctl_card_info(control, information) >= 0,
            let identifier = snd_ctl_card_info_get_id(information), let name = snd_ctl_card_info_get_name(information)
        else { return nil }
        return Card(index: Int(index), identifier: String(cString: identifier), name: String(cString: name))
    }
}
