import CALSA
package import ControlLoop
import Glibc

/// The control elements of one card and their changes. Read-only.
@ControlPlane
package final class CardControl {
    package struct Element: Hashable, Sendable {
        /// The kernel's number of the element, from 1.
        package let number: UInt32
        /// As in `amixer controls`: `Headphone Jack`.
        package let name: String
        package let isBoolean: Bool
    }

    /// The name that it was opened with: `hw:0`.
    package let card: String
    /// The card's number.
    package let index: Int
    /// Called after elements have changed, come or gone; the owner has to read the values again.
    package var onChange: (@ControlPlane () -> Void)?
    /// Called once when the card has been pulled; the handle is closed then.
    package var onGone: (@ControlPlane () -> Void)?
    private var control: OpaquePointer?
    private var sources: [DescriptorSource] = []

    /// - Parameter card: `hw:0`, `hw:PCH`.
    /// - Throws: `missing`, or `failed`.
    package init(card: String) throws(ALSAError) {
        self.card = card
        var opened: OpaquePointer?
        let mode = Int32(SND_CTL_NONBLOCK) | Int32(SND_CTL_READONLY)
        let result = snd_ctl_open(&opened, card, mode)
        guard result >= 0, let opened else { throw ALSAError(device: card, call: "snd_ctl_open", result: result) }
        control = opened
        var information: OpaquePointer?
        guard snd_ctl_card_info_malloc(&information) >= 0 else {
            index = -1
            return
        }
        defer { snd_ctl_card_info_free(information) }
        index = snd_ctl_card_info(opened, information) >= 0 ? Int(snd_ctl_card_info_get_card(information)) : -1
    }

    isolated deinit { close() }

    /// Closes the handle; no callback follows.
    package func close() {
        onChange = nil
        onGone = nil
        for source in sources { source.cancel() }
        sources = []
        if let control { snd_ctl_close(control) }
        control = nil
    }

    /// Starts reporting changes.
    package func watch() throws(ALSAError) {
        guard let control, sources.isEmpty else { return }
        let result = snd_ctl_subscribe_events(control, 1)
        guard result >= 0 else { throw ALSAError(device: card, call: "snd_ctl_subscribe_events", result: result) }
        sources = try PollSources.watch(
            card, count: snd_ctl_poll_descriptors_count(control),
            fill: { snd_ctl_poll_descriptors(control, $0, $1) }, handler: { [weak self] in self?.ready($0) })
    }

    /// All elements of the card.
    package func elements() -> [Element] {
        guard let control else { return [] }
        var list: OpaquePointer?
        guard snd_ctl_elem_list_malloc(&list) >= 0 else { return [] }
        defer { snd_ctl_elem_list_free(list) }
        guard snd_ctl_elem_list(control, list) >= 0 else { return [] }
        let count = snd_ctl_elem_list_get_count(list)
        guard count > 0, snd_ctl_elem_list_alloc_space(list, count) >= 0 else { return [] }
        defer { snd_ctl_elem_list_free_space(list) }
        guard snd_ctl_elem_list(control, list) >= 0 else { return [] }
        return (0..<snd_ctl_elem_list_get_used(list)).map { position in
            let number = snd_ctl_elem_list_get_numid(list, position)
            let name = snd_ctl_elem_list_get_name(list, position).map { String(cString: $0) } ?? ""
            return Element(number: number, name: name, isBoolean: isBoolean(number))
        }
    }

    private func isBoolean(_ number: UInt32) -> Bool {
        var information: OpaquePointer?
        guard snd_ctl_elem_info_malloc(&information) >= 0 else { return false }
        defer { snd_ctl_elem_info_free(information) }
        snd_ctl_elem_info_set_numid(information, number)
        guard snd_ctl_elem_info(control, information) >= 0 else { return false }
        return snd_ctl_elem_info_get_type(information) == SND_CTL_ELEM_TYPE_BOOLEAN
    }

    /// Whether a Boolean element is on; nil if it no longer exists.
    package func isOn(_ element: Element) -> Bool? {
        guard let control else { return nil }
        var value: OpaquePointer?
        guard snd_ctl_elem_value_malloc(&value) >= 0 else { return nil }
        defer { snd_ctl_elem_value_free(value) }
        snd_ctl_elem_value_set_numid(value, element.number)
        guard snd_ctl_elem_read(control, value) >= 0 else { return nil }
        return snd_ctl_elem_value_get_boolean(value, 0) != 0
    }

    private func ready(_ readiness: Readiness) {
        guard let control else { return }
        var event: OpaquePointer?
        guard snd_ctl_event_malloc(&event) >= 0 else { return }
        defer { snd_ctl_event_free(event) }
        var count = 0
        while true {
            let result = snd_ctl_read(control, event)
            if result > 0 {
                count += 1
            } else if result == -EINTR {
                continue
            } else if result == 0 || result == -EAGAIN, !readiness.contains(.error), !readiness.contains(.hangup) {
                break
            } else {
                let handler = onGone
                close()
                handler?()
                return
            }
        }
        if count > 0 { onChange?() }
    }
}
