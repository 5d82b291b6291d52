import CALSA
package import ControlLoop
import Glibc

/// A volume control of a card's mixer, with its switch. Control side only.
@ControlPlane
package final class MixerElement {
    /// Volumes and switches of the hardware.
    package struct Setting: Hashable, Sendable {
        /// Volume of each channel, in the driver's own steps.
        package var volumes: [Int]
        /// The switch of each channel; empty if it has none.
        package var switches: [Bool]

        package init(volumes: [Int], switches: [Bool]) {
            self.volumes = volumes
            self.switches = switches
        }
    }

    package let card: String
    package let element: String
    /// Called after some program has changed the control, perhaps this one.
    package var onChange: (@ControlPlane () -> Void)?
    /// Called once when the card or the control has gone; the handle is closed then.
    package var onGone: (@ControlPlane () -> Void)?

    private var mixer: OpaquePointer?
    private var handle: OpaquePointer
    private let isPlayback: Bool
    private let hasSwitch: Bool
    private let channels: [snd_mixer_selem_channel_id_t]
    /// Lowest and highest step.
    private let range: ClosedRange<Int>
    private var sources: [DescriptorSource] = []

    /// Opens a simple mixer element by name, `Speaker` or `Speaker,1`.
    ///
    /// - Parameter card: as in `hw:0`, `hw:Loopback` or `default`.
    /// - Throws: `missing` if the card does not exist, `lacks` if it has no such element, `unsupported` if the element has
    ///   no volume.
    package init(card: String, element: String) throws(ALSAError) {
        let opened = try Self.open(card)
        do throws(ALSAError) {
            guard let found = Self.find(element, in: opened) else {
                throw .lacks(device: card, what: "mixer control \(element)", others: Self.names(in: opened))
            }
            let isPlayback = snd_mixer_selem_has_playback_volume(found) == 1
            guard isPlayback || snd_mixer_selem_has_capture_volume(found) == 1 else {
                throw .unsupported(device: "\(card) \(element)", what: "has no volume")
            }
            var low = 0
            var high = 0
            if isPlayback {
                snd_mixer_selem_get_playback_volume_range(found, &low, &high)
                hasSwitch = snd_mixer_selem_has_playback_switch(found) == 1
            } else {
                snd_mixer_selem_get_capture_volume_range(found, &low, &high)
                hasSwitch = snd_mixer_selem_has_capture_switch(found) == 1
            }
            range = low...max(low, high)
            channels = (0...SND_MIXER_SCHN_LAST.rawValue).map { snd_mixer_selem_channel_id_t(rawValue: $0) }.filter {
                (isPlayback
                    ? snd_mixer_selem_has_playback_channel(found, $0) : snd_mixer_selem_has_capture_channel(found, $0))
                    == 1
            }
            handle = found
            self.isPlayback = isPlayback
        } catch {
            snd_mixer_close(opened)
            throw error
        }
        mixer = opened
        self.card = card
        self.element = element
    }

    isolated deinit { close() }

    /// Closes the handle; no callback follows.
    package func close() {
        onChange = nil
        onGone = nil
        for source in sources { source.cancel() }
        sources = []
        if let mixer { snd_mixer_close(mixer) }
        mixer = nil
    }

    // MARK: Settings

    /// The present setting of the control.
    package var setting: Setting {
        guard mixer != nil else { return Setting(volumes: [], switches: []) }
        var setting = Setting(volumes: [], switches: [])
        for channel in channels {
            var volume = 0
            var isOn: Int32 = 1
            if isPlayback {
                snd_mixer_selem_get_playback_volume(handle, channel, &volume)
                if hasSwitch { snd_mixer_selem_get_playback_switch(handle, channel, &isOn) }
            } else {
                snd_mixer_selem_get_capture_volume(handle, channel, &volume)
                if hasSwitch { snd_mixer_selem_get_capture_switch(handle, channel, &isOn) }
            }
            setting.volumes.append(volume)
            if hasSwitch { setting.switches.append(isOn != 0) }
        }
        return setting
    }

    /// Returns the setting for a volume: all channels alike, switched on.
    ///
    /// - Parameter percent: 0…100 of the control's range.
    package func setting(percent: Int) -> Setting {
        let span = range.upperBound - range.lowerBound
        let step = range.lowerBound + (span * min(max(percent, 0), 100) + 50) / 100
        return Setting(
            volumes: channels.map { _ in step }, switches: hasSwitch ? channels.map { _ in true } : [])
    }

    /// The volume of a setting, 0…100: the mean of the channels; 0 if all of them are switched off.
    package func percent(of setting: Setting) -> Int {
        let span = range.upperBound - range.lowerBound
        guard span > 0, !setting.volumes.isEmpty, setting.switches.isEmpty || setting.switches.contains(true) else {
            return 0
        }
        let sum = setting.volumes.reduce(0) { $0 + $1 - range.lowerBound }
        let whole = span * setting.volumes.count
        return (sum * 100 + whole / 2) / whole
    }

    /// Sets the control; afterwards `setting` returns what the driver made of it, which may be the next step. `onChange`
    /// does not follow, because the change is this program's own.
    package func apply(_ setting: Setting) throws(ALSAError) {
        // alsa-lib writes only values that differ from those it has read last.
        try synchronise()
        for (channel, volume) in zip(channels, setting.volumes) {
            try check(
                isPlayback
                    ? snd_mixer_selem_set_playback_volume(handle, channel, volume)
                    : snd_mixer_selem_set_capture_volume(handle, channel, volume), "snd_mixer_selem_set_volume")
        }
        for (channel, isOn) in zip(channels, setting.switches) {
            try check(
                isPlayback
                    ? snd_mixer_selem_set_playback_switch(handle, channel, isOn ? 1 : 0)
                    : snd_mixer_selem_set_capture_switch(handle, channel, isOn ? 1 : 0), "snd_mixer_selem_set_switch")
        }
        try synchronise()
    }

    /// Handles the card's pending events. When the element goes, alsa-lib frees the handle.
    private func synchronise() throws(ALSAError) {
        guard let mixer else { throw .missing(device: "\(card) \(element)", advice: "the card has gone") }
        try check(min(snd_mixer_handle_events(mixer), 0), "snd_mixer_handle_events")
        guard let found = Self.find(element, in: mixer) else {
            throw .missing(device: "\(card) \(element)", advice: "the control has gone")
        }
        handle = found
    }

    // MARK: Changes

    /// Starts reporting changes.
    package func watch() throws(ALSAError) {
        guard let mixer, sources.isEmpty else { return }
        sources = try PollSources.watch(
            card, count: snd_mixer_poll_descriptors_count(mixer),
            fill: { snd_mixer_poll_descriptors(mixer, $0, $1) }, handler: { [weak self] in self?.ready($0) })
    }

    private func ready(_ readiness: Readiness) {
        guard mixer != nil else { return }
        var isGone = readiness.contains(.error) || readiness.contains(.hangup)
        do throws(ALSAError) {
            try synchronise()
        } catch {
            isGone = true
        }
        guard !isGone else {
            let handler = onGone
            close()
            handler?()
            return
        }
        onChange?()
    }

    // MARK: Opening

    private static func open(_ card: String) throws(ALSAError) -> OpaquePointer {
        var opened: OpaquePointer?
        try check(snd_mixer_open(&opened, 0), "snd_mixer_open", card)
        guard let opened else { throw .missing(device: card, advice: "see `aplay -l`") }
        do throws(ALSAError) {
            try check(snd_mixer_attach(opened, card), "snd_mixer_attach", card)
            try check(snd_mixer_selem_register(opened, nil, nil), "snd_mixer_selem_register", card)
            try check(snd_mixer_load(opened), "snd_mixer_load", card)
        } catch {
            snd_mixer_close(opened)
            throw error
        }
        return opened
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

    /// Names of the elements with a volume.
    private static func names(in mixer: OpaquePointer) -> [String] {
        var names: [String] = []
        var next = snd_mixer_first_elem(mixer)
        while let element = next {
            if snd_mixer_selem_has_playback_volume(element) == 1 || snd_mixer_selem_has_capture_volume(element) == 1,
                let name = snd_mixer_selem_get_name(element)
            {
                let index = snd_mixer_selem_get_index(element)
                names.append(String(cString: name) + (index == 0 ? "" : ",\(index)"))
            }
            next = snd_mixer_elem_next(element)
        }
        return names
    }

    private func check(_ result: Int32, _ call: String) throws(ALSAError) {
        try Self.check(result, call, "\(card) \(element)")
    }

    private static func check(_ result: Int32, _ call: String, _ device: String) throws(ALSAError) {
        if result < 0 { throw ALSAError(device: device, call: call, result: result) }
    }
}
