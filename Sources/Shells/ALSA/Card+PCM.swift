import CALSA

extension Card {
    /// Kinds of alsa-lib PCMs whose first argument is the card.
    private static let kindsWithCard: Set<String> = [
        "hw", "plughw", "sysdefault", "default", "dmix", "dsnoop", "front", "hdmi", "iec958",
    ]

    /// The control device (`hw:PCH`) of the card behind a PCM's name; nil if it has none, or none now.
    ///
    /// A card in the name is taken from the name, so that a busy or missing card is found, too. Other names, such as those
    /// of an asound.conf, are opened for a moment.
    package static func control(ofPCM name: String) -> String? {
        if let card = card(named: name) { return "hw:\(card)" }
        var handle: OpaquePointer?
        for stream in [SND_PCM_STREAM_PLAYBACK, SND_PCM_STREAM_CAPTURE] {
            if snd_pcm_open(&handle, name, stream, Int32(SND_PCM_NONBLOCK)) >= 0 { break }
        }
        guard let handle else { return nil }
        defer { snd_pcm_close(handle) }
        var information: OpaquePointer?
        guard snd_pcm_info_malloc(&information) >= 0 else { return nil }
        defer { snd_pcm_info_free(information) }
        guard snd_pcm_info(handle, information) >= 0 else { return nil }
        let index = snd_pcm_info_get_card(information)
        return index >= 0 ? "hw:\(index)" : nil
    }

    /// `0` of `hw:0,0`, `PCH` of `plughw:CARD=PCH,DEV=0`, `1` of `plug:hw:1`; nil if the name contains no card.
    static func card(named name: some StringProtocol) -> String? {
        guard let colon = name.firstIndex(of: ":") else { return nil }
        let kind = String(name[..<colon])
        let rest = name[name.index(after: colon)...]
        if kind == "plug" { return card(named: String(rest).filter { $0 != "\"" && $0 != "'" }) }
        guard kindsWithCard.contains(kind) || kind.hasPrefix("surround") else { return nil }
        let arguments = rest.split(separator: ",", omittingEmptySubsequences: false)
        if let named = arguments.first(where: { $0.hasPrefix("CARD=") }) { return String(named.dropFirst(5)) }
        guard let first = arguments.first, !first.isEmpty, !first.contains("=") else { return nil }
        return String(first)
    }
}
