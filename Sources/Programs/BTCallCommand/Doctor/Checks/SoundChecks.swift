import ALSA
import Configuration
import Routing

/// Checks for the configured sound cards, and the PCM for other programs.
let soundChecks = [
    DoctorCheck(
        "sound-device-missing", .fault,
        finds: "a [device …] names a sound card, or a direction of one, that does not exist",
        remedy: "name one that exists; numbers change with the order of plugging, CARD=NAME does not",
        command: "aplay -l; arecord -l"
    ) { system in
        system.eachStream { stream in
            guard let card = stream.card else {
                let cards = system.soundCards.map { "\($0.id) (\($0.number))" }.joined(separator: ", ")
                return DoctorEvidence(
                    "[device \(stream.device)] \(stream.key) names a sound card that does not exist: \(stream.name)",
                    seen: "/proc/asound/cards has \(cards.isEmpty ? "none" : cards)")
            }
            guard system.exists(stream.path(card)) else {
                return DoctorEvidence(
                    "[device \(stream.device)] \(stream.key): the card \(card.id) has no such PCM: \(stream.name)",
                    seen: "there is no \(stream.path(card))")
            }
            return nil
        }
    },
    DoctorCheck(
        "sound-device-busy", .fault, finds: "another program has a sound card open that calls need",
        remedy: "stop it, give it another device, or share the card: audio.mixWithOthers = yes",
        command: "btcall config audio.mixWithOthers yes"
    ) { system in
        if system.configuration?.mixesWithOthers == true { return .ok }
        return system.eachStream { stream in
            guard let card = stream.card else { return nil }
            let path = stream.path(card)
            let owners = system.entries(path).filter { $0.hasPrefix("sub") }.map { system.owner(of: "\(path)/\($0)") }
            // One substream that is free, or used by btcalld, is enough.
            guard !owners.isEmpty, !owners.contains(where: { $0 == nil || $0?.leader == system.daemon?.id }),
                let owner = owners.compactMap({ $0 }).first
            else { return nil }
            let leader = system.process(owner.leader) ?? owner
            return DoctorEvidence(
                "\(leader.title) has the \(stream.key) of [device \(stream.device)] open: \(stream.name)",
                seen: "owner_pid in \(path)/sub*/status")
        }
    },
    DoctorCheck(
        "sound-device-format", .warning,
        finds: "a USB sound card has none of the rates, formats and channels that calls use",
        remedy: "put plug: in front of its name, so that alsa-lib converts", command: "cat /proc/asound/card*/stream0"
    ) { system in
        system.eachStream { stream in
            guard let card = stream.card, !stream.name.hasPrefix("plug") else { return nil }
            let path = "/proc/asound/card\(card.number)/stream\(stream.number)"
            let settings = USBStream.settings(system.lines(path), isPlayback: stream.isPlayback)
            guard !settings.isEmpty, !settings.contains(where: \.isUsable) else { return nil }
            return DoctorEvidence(
                "[device \(stream.device)] \(stream.key): \(stream.name) can be used only with plug: in front",
                seen: "\(path): " + settings.map(\.text).joined(separator: "; "))
        }
    },
    DoctorCheck(
        "sound-devices-none", .fault,
        finds: "no local device is configured: calls are heard on headsets only, and by nobody where none is paired",
        remedy: "write [device speakerphone] with playback and capture in the configuration; setup proposes them",
        command: "btcall setup"
    ) { system in
        guard let configuration = system.configuration else { return .skipped("there is no configuration to look at") }
        guard configuration.localDevices.isEmpty else { return .ok }
        guard system.pairedHeadsets.isEmpty else {
            return .found([
                DoctorEvidence("no [device …] is configured", seen: system.configurationFile, severity: .note)
            ])
        }
        return .found([
            DoctorEvidence(
                "no call can be heard: no [device …] is configured, and no headset is paired",
                seen: system.configurationFile)
        ])
    },
    DoctorCheck(
        "pcm-plugin", .warning,
        finds: "the ALSA PCM btcall is not installed, or only half: softphones do not find btcall:call",
        remedy: "install btcall again: it contains the PCM",
        command: "apt-get install --reinstall btcall"
    ) { system in
        let libraries = system.entries("/usr/lib").map { "/usr/lib/\($0)/alsa-lib" } + ["/usr/lib/alsa-lib"]
        let plugin = libraries.map { "\($0)/libasound_module_pcm_btcall.so" }.first { system.exists($0) }
        let files = ["/etc/alsa/conf.d/60-btcall.conf", "/usr/share/alsa/alsa.conf.d/60-btcall.conf"]
        let file = files.first { system.exists($0) }
        switch (plugin, file) {
        case (.some, .some): return .ok
        case (nil, nil):
            return .found([
                DoctorEvidence(
                    "programs cannot open the PCM btcall:call",
                    seen: "there is no libasound_module_pcm_btcall.so in /usr/lib/*/alsa-lib", severity: .note)
            ])
        case (.some(let plugin), nil):
            return .found([
                DoctorEvidence(
                    "alsa-lib does not know the PCM btcall", seen: "\(plugin) exists, 60-btcall.conf does not")
            ])
        case (nil, .some(let file)):
            return .found([
                DoctorEvidence(
                    "the configuration of alsa-lib names a PCM btcall that does not exist",
                    seen: "\(file) exists, libasound_module_pcm_btcall.so does not")
            ])
        }
    },
]

/// One direction of a configured device on hardware.
private struct ConfiguredStream {
    /// `earpiece`
    let device: String
    let isPlayback: Bool
    /// Its ALSA name.
    let name: String
    /// Nil when there is no such card.
    let card: DoctorSystem.SoundCard?
    /// Number of the PCM on the card.
    let number: Int

    var key: String { isPlayback ? "playback" : "capture" }

    func path(_ card: DoctorSystem.SoundCard) -> String {
        "/proc/asound/card\(card.number)/pcm\(number)\(isPlayback ? "p" : "c")"
    }
}

/// One alternate setting in `/proc/asound/cardN/streamN`.
private struct USBStream {
    var format = ""
    var channels = 0
    var rates = ""

    var text: String { "\(format), \(channels) channels, \(rates) Hz" }

    var isUsable: Bool {
        let formats = ["S16_LE", "S32_LE", "S24_LE", "S24_3LE", "FLOAT_LE"]
        let hasRate =
            rates.contains("continuous")
            || rates.split(whereSeparator: { $0 == "," || $0 == " " }).contains {
                Int($0).map(PCMHandle.rates.contains) == true
            }
        let hasFormat = format.split(separator: " ").contains { formats.contains(String($0)) }
        return hasFormat && (1...2).contains(channels) && hasRate
    }

    static func settings(_ lines: [Substring], isPlayback: Bool) -> [USBStream] {
        var settings: [USBStream] = []
        var isWanted = false
        for line in lines {
            let words = line.drop { $0 == " " || $0 == "\t" }
            if words == "Playback:" { isWanted = isPlayback }
            if words == "Capture:" { isWanted = !isPlayback }
            guard isWanted, let colon = words.firstIndex(of: ":") else { continue }
            let value = words[words.index(after: colon)...].drop { $0 == " " }
            switch words[..<colon] {
            case "Format": settings.append(USBStream(format: String(value)))
            case "Channels": if !settings.isEmpty { settings[settings.count - 1].channels = Int(value) ?? 0 }
            case "Rates": if !settings.isEmpty { settings[settings.count - 1].rates = String(value) }
            default: break
            }
        }
        return settings.filter { !$0.rates.isEmpty }
    }
}

extension DoctorSystem {
    struct SoundCard: Equatable, Sendable {
        let number: Int
        /// The name for `CARD=`.
        let id: String
    }

    /// Reads the lines ` 0 [Loopback       ]: Loopback - Loopback` of `/proc/asound/cards`.
    var soundCards: [SoundCard] {
        lines("/proc/asound/cards").compactMap { line in
            let parts = line.split(separator: "[", maxSplits: 1)
            guard parts.count == 2, let number = Int(parts[0].filter { $0 != " " }),
                let id = parts[1].split(separator: "]").first
            else { return nil }
            return SoundCard(number: number, id: String(id.filter { $0 != " " }))
        }
    }

    /// The configured streams on hardware; alsa-lib handles other names.
    private var configuredStreams: [ConfiguredStream] {
        let devices = configuration?.localDevices.sorted { $0.key.rawValue < $1.key.rawValue } ?? []
        return devices.flatMap { kind, device in
            [(device.playback, true), (device.capture, false)].compactMap { name, isPlayback in
                guard let name, let (card, number) = hardware(name) else { return nil }
                return ConfiguredStream(
                    device: kind.rawValue, isPlayback: isPlayback, name: name,
                    card: soundCards.first { $0.id == card || String($0.number) == card }, number: number)
            }
        }
    }

    /// The card and the number of the PCM in `hw:0,0`, `plughw:CARD=Device,DEV=0`, `plug:hw:1`; nil for other names.
    private func hardware(_ name: String) -> (card: String, number: Int)? {
        var name = name.filter { $0 != "'" && $0 != "\"" }[...]
        if name.hasPrefix("plug:") { name = name.dropFirst(5) }
        let kinds = ["hw:", "plughw:", "sysdefault:", "front:"]
        guard let kind = kinds.first(where: { name.hasPrefix($0) }) else { return nil }
        var card: String?
        var number = 0
        for (place, part) in name.dropFirst(kind.count).split(separator: ",").enumerated() {
            let pair = part.split(separator: "=", maxSplits: 1)
            switch (place, pair.count, pair.first) {
            case (_, 2, "CARD"?): card = String(pair[1])
            case (_, 2, "DEV"?): number = Int(pair[1]) ?? 0
            case (0, 1, .some(let word)): card = String(word)
            case (1, 1, .some(let word)): number = Int(word) ?? 0
            default: break
            }
        }
        return card.map { ($0, number) }
    }

    fileprivate func eachStream(_ body: (ConfiguredStream) -> DoctorEvidence?) -> DoctorCheck.Outcome {
        guard !configuredStreams.isEmpty else { return .skipped("the configuration names no sound card") }
        return DoctorCheck.Outcome(configuredStreams.compactMap(body))
    }

    /// The process that has a PCM open; nil while it is closed.
    fileprivate func owner(of substream: String) -> DoctorProcess? {
        for line in lines("\(substream)/status") where line.hasPrefix("owner_pid") {
            return line.split(separator: ":").last.flatMap { Int($0.filter { $0 != " " }) }.flatMap { process($0) }
        }
        return nil
    }
}
