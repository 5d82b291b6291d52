import CALSA
import Glibc

/// A volume control of a card's mixer. Control side only.
package final class MixerElement {
    package let card: String
    package let element: String
    /// Called by `handleEvents` after somebody has changed the control.
    package var onChange: (() -> Void)?

    private let mixer: OpaquePointer
    private let handle: OpaquePointer
    private let hasPlayback: Bool

    /// Opens a simple mixer element by name, `Speaker` or `Speaker,1`.
    ///
    /// - Parameter card: as in `hw:0`, `hw:Loopback` or `default`.
    /// - Throws: `missing` when there is no such card or element, `unsupported` when it has no volume.
    package init(card: String, element: String) throws(ALSAError) {
        var opened: OpaquePointer?
        try Self.check(snd_mixer_open(&opened, 0), "snd_mixer_open", card)
        guard let opened else { throw .missing(device: card, advice: "see `aplay -l`") }
        do throws(ALSAError) {
            try Self.check(snd_mixer_attach(opened, card), "snd_mixer_attach", card)
            try Self.check(snd_mixer_selem_register(opened, nil, nil), "snd_mixer_selem_register", card)
            try Self.check(snd_mixer_load(opened), "snd_mixer_load", card)
            guard let found = Self.find(element, in: opened) else {
                throw .missing(
                    device: "\(card) \(element)", advice: "see `amixer -D \(card) scontrols` for the elements there are"
                )
            }
            handle = found
            hasPlayback = snd_mixer_selem_has_playback_volume(found) == 1
            guard hasPlayback || snd_mixer_selem_has_capture_volume(found) == 1 else {
                throw .unsupported(device: "\(card) \(element)", what: "has no volume")
            }
        } catch {
            snd_mixer_close(opened)
            throw error
        }
        mixer = opened
        self.card = card
        self.element = element
    }

    deinit { snd_mixer_close(mixer) }

    /// 0…100 per cent of the element's range; the mean of its channels is not taken, the first one counts.
    package var volume: Int {
        get {
            var low = 0
            var high = 0
            var value = 0
            if hasPlayback {
                snd_mixer_selem_get_playback_volume_range(handle, &low, &high)
                snd_mixer_selem_get_playback_volume(handle, SND_MIXER_SCHN_FRONT_LEFT, &value)
            } else {
                snd_mixer_selem_get_capture_volume_range(handle, &low, &high)
                snd_mixer_selem_get_capture_volume(handle, SND_MIXER_SCHN_FRONT_LEFT, &value)
            }
            guard high > low else { return 0 }
            return ((value - low) * 100 + (high - low) / 2) / (high - low)
        }
        set {
            var low = 0
            var high = 0
            let percent = min(max(newValue, 0), 100)
            if hasPlayback {
                snd_mixer_selem_get_playback_volume_range(handle, &low, &high)
                snd_mixer_selem_set_playback_volume_all(handle, low + (high - low) * percent / 100)
            } else {
                snd_mixer_selem_get_capture_volume_range(handle, &low, &high)
                snd_mixer_selem_set_capture_volume_all(handle, low + (high - low) * percent / 100)
            }
        }
    }

    /// What to watch for changes; readable → `handleEvents`.
    package var descriptors: [Int32] {
        let count = Int(snd_mixer_poll_descriptors_count(mixer))
        guard count > 0 else { return [] }
        var entries = [pollfd](repeating: pollfd(), count: count)
        let filled = Int(snd_mixer_poll_descriptors(mixer, &entries, UInt32(count)))
        return entries.prefix(max(0, filled)).map(\.fd)
    }

    /// Takes what the mixer has to tell, then calls `onChange`. False when the card is gone.
    package func handleEvents() -> Bool {
        let result = snd_mixer_handle_events(mixer)
        if result > 0 { onChange?() }
        return result >= 0
    }

    private static func find(_ name: String, in mixer: OpaquePointer) -> OpaquePointer? {
        var identifier: OpaquePointer?
        guard snd_mixer_selem_id_malloc(&identifier) >= 0 else { return nil }
        defer { snd_mixer_selem_id_free(identifier) }
        let parts = name.split(separator: ",", maxSplits: 1)
        if parts.count == 2, let index = UInt32(parts[1]) {
            snd_mixer_selem_id_set_index(identifier, index)
            snd_mixer_selem_id_set_name(identifier, String(parts[0]))
        } else {
            snd_mixer_selem_id_set_name(identifier, name)
        }
        return snd_mixer_find_selem(mixer, identifier)
    }

    private static func check(_ result: Int32, _ call: String, _ device: String) throws(ALSAError) {
        if result < 0 { throw ALSAError(device: device, call: call, result: result) }
    }
}
