import CommandKit
import Routing

/// The sections that `btcall setup` proposes for a board.
struct SetupProposal: Sendable {
    struct Device: Sendable {
        let device: LocalDevice
        /// In the order in which they are written.
        var values: [(key: String, value: String)]
        /// A row of boards.conf, or the reason for choosing the device.
        let origin: String

        func value(_ key: String) -> String? { values.first { $0.key == key }?.value }
    }

    private(set) var devices: [Device] = []
    private(set) var boards: [String] = []
    private(set) var notes: [String] = []

    /// Proposes devices for a board.
    ///
    /// Matching boards are used in the order of the file; a later one adds missing devices. Cards with playback and capture
    /// that belong to no board become devices, too; USB cards are used before boards that are recognised by a built-in card
    /// only.
    ///
    /// - Parameter name: name of a board to use even if it does not match; nil for all matching boards.
    /// - Throws: ``CommandFailure`` for an unknown board.
    init(_ facts: BoardFacts, _ profiles: [BoardProfile], named name: String? = nil) throws {
        var used: Set<Int> = []
        if let name {
            guard let profile = profiles.first(where: { $0.name == name }) else {
                let names = profiles.map(\.name).joined(separator: ", ")
                throw CommandFailure("there is no board \"\(name)\"; there are: \(names.isEmpty ? "none" : names)")
            }
            let card = profile.fits(facts)?.card
            if card == nil, profile.card != nil {
                throw CommandFailure(
                    "the board \(name) needs the sound card \(profile.card ?? ""), which is absent; "
                        + "present: \(Self.names(facts)) (/proc/asound/cards)")
            }
            add(profile, card, &used)
            return
        }
        // A model, or a card that somebody has plugged in, is more specific than a card found in many machines.
        let fitting = profiles.compactMap { profile in profile.fits(facts).map { (profile, $0.card) } }
        let isTelling = { (profile: BoardProfile, card: FoundCard?) in profile.model != nil || card?.isUSB == true }
        for (profile, card) in fitting where isTelling(profile, card) { add(profile, card, &used) }
        addOthers(facts.cards.filter(\.isUSB), &used)
        for (profile, card) in fitting where !isTelling(profile, card) { add(profile, card, &used) }
        addOthers(facts.cards, &used)
    }

    static func names(_ facts: BoardFacts) -> String {
        facts.cards.isEmpty ? "none" : facts.cards.map(\.identifier).joined(separator: ", ")
    }

    private mutating func add(_ profile: BoardProfile, _ card: FoundCard?, _ used: inout Set<Int>) {
        let present = Set(devices.map(\.device))
        var isAdded = false
        for (device, key, value) in profile.values(on: card) where !present.contains(device) {
            isAdded = true
            if let index = devices.firstIndex(where: { $0.device == device }) {
                devices[index].values.append((key, value))
            } else {
                devices.append(Device(device: device, values: [(key, value)], origin: profile.name))
            }
        }
        guard isAdded else { return }
        boards.append(profile.name)
        if let note = profile.note { notes.append("\(profile.name): \(note)") }
        if let card { used.insert(card.index) }
    }

    private mutating func addOthers(_ cards: [FoundCard], _ used: inout Set<Int>) {
        for card in cards where !card.isVideo && !card.playback.isEmpty && !card.capture.isEmpty {
            guard !used.contains(card.index) else { continue }
            let present = Set(devices.map(\.device))
            guard let device = [LocalDevice.speakerphone, .earpiece].first(where: { !present.contains($0) }) else {
                return
            }
            used.insert(card.index)
            devices.append(
                Device(
                    device: device,
                    values: [
                        ("playback", "hw:CARD=\(card.identifier),DEV=\(card.playback[0])"),
                        ("capture", "hw:CARD=\(card.identifier),DEV=\(card.capture[0])"),
                    ], origin: "\(card.name): it plays and records"))
        }
    }

    /// Removes a device's key that was found not to work.
    mutating func remove(_ key: String, of device: LocalDevice) {
        guard let index = devices.firstIndex(where: { $0.device == device }) else { return }
        devices[index].values.removeAll { $0.key == key }
        // Without playback and capture only the mixer is left.
        if devices[index].value("playback") == nil, devices[index].value("capture") == nil { devices.remove(at: index) }
    }

    var lines: [String] {
        devices.flatMap { device in
            ["# \(device.origin)", "[device \(device.device.rawValue)]"]
                + device.values.map { "\($0.key) = \($0.value)" } + [""]
        }
    }
}
