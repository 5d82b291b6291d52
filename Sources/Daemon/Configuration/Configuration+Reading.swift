import Routing
import Spelling

// Reads the text of a file into a configuration.
extension Configuration {
    /// Reads a configuration file to its end.
    ///
    /// - Returns: the configuration from the valid entries, and all mistakes in the order of the file.
    /// - Throws: `ConfigurationError` when the file cannot be read.
    package static func reading(
        file: String
    ) throws(ConfigurationError) -> (configuration: Configuration, mistakes: [ConfigurationError]) {
        reading(try ConfigurationReader.contents(ofFile: file), file: file)
    }

    /// - Parameter file: name of the file in messages.
    package static func reading(
        _ contents: ConfigurationContents, file: String
    ) -> (configuration: Configuration, mistakes: [ConfigurationError]) {
        var reader = SectionReader(file: file, heads: contents.heads)
        for entry in contents.entries { reader.apply(entry) }
        reader.finish()
        let mistakes = (contents.mistakes + reader.mistakes).sorted { ($0.line ?? 0) < ($1.line ?? 0) }
        return (reader.configuration, mistakes)
    }

    /// Reads a configuration file.
    ///
    /// - Throws: `ConfigurationError` for the first invalid entry.
    package init(file: String) throws(ConfigurationError) {
        let (configuration, mistakes) = try Self.reading(file: file)
        if let mistake = mistakes.first { throw mistake }
        self = configuration
    }

    /// - Parameters:
    ///   - text: the contents of a file.
    ///   - name: name of the file in messages.
    package init(text: String, name: String) throws(ConfigurationError) {
        let (configuration, mistakes) = Self.reading(
            try ConfigurationReader.contents(ofText: text, name: name), file: name)
        if let mistake = mistakes.first { throw mistake }
        self = configuration
    }
}

/// Applies the entries of a file one after the other, and continues after each mistake.
private struct SectionReader {
    private(set) var configuration = Configuration()
    private(set) var mistakes: [ConfigurationError] = []
    private let file: String
    private let heads: [ConfigurationContents.Head]
    /// Lines by section and present name of the key.
    private var places: [String: Int] = [:]
    /// Sections already reported as mistakes, whose entries are skipped.
    private var refused: Set<String> = []

    init(file: String, heads: [ConfigurationContents.Head]) {
        self.file = file
        self.heads = heads
        for head in heads
        where ConfigurationSection(head.section) == nil && ConfigurationSection.moved[head.section] == nil {
            refuse(head.section, head.line)
        }
    }

    mutating func apply(_ entry: ConfigurationEntry) {
        guard !refused.contains(entry.section) else { return }
        guard let section = ConfigurationSection(entry.section) else { return refuse(entry) }
        guard let key = section.key(entry.key) else { return refuseKey(entry, section) }
        let name = "[\(entry.section)] \(key.name)"
        if let earlier = places[name] {
            return add(entry, "is given a second time, as \(key.name)", "keep one of this and line \(earlier)")
        }
        places[name] = entry.line
        do throws(ConfigurationValueError) {
            try key.apply(&configuration, entry.value)
            configuration.givenSettings.insert("\(section.settingPrefix).\(key.name)")
        } catch {
            let question = AcceptedWords.question(for: entry.value, accepted: error.accepted).map { "\($0) " } ?? ""
            return add(entry, "'\(entry.value)' is not accepted", "\(question)it is \(error.accepted)")
        }
        if section == .routing, key.name == RoutingKey.systemDevice.rawValue,
            LocalDevice(rawValue: entry.value) == nil
        {
            configuration.warnings.append(
                error(
                    entry, "'\(entry.value)' is no device of the board and stands for the first one that exists",
                    "write " + LocalDevice.allCases.map(\.rawValue).joined(separator: ", ")))
        }
        guard key.name != entry.key else { return }
        configuration.warnings.append(
            error(entry, "is called \(key.name) now", "write \(key.name) = \(entry.value)"))
    }

    /// Checks that need the complete sections.
    mutating func finish() {
        for kind in LocalDevice.allCases {
            let section = ConfigurationSection.device(kind).name
            let first = heads.first { $0.section == section }?.line
            // The section's own mistakes have been reported.
            let isMistaken = mistakes.contains { $0.key?.hasPrefix("[\(section)]") == true }
            guard first != nil || configuration.localDevices[kind] != nil, !isMistaken else { continue }
            let device = configuration.localDevices[kind] ?? Configuration.SoundCard()
            if device.pcm == nil {
                let isEmpty = configuration.localDevices[kind] == nil
                mistakes.append(
                    ConfigurationError(
                        file: file, line: first, key: "[\(section)]",
                        problem: isEmpty ? "is empty" : "has neither playback nor capture",
                        accepted: "name an ALSA device: playback = hw:0,0"
                            + (isEmpty ? ", or delete the line where the board does not have this device" : "")))
            } else if device.volume != nil, device.mixer == nil {
                mistakes.append(
                    ConfigurationError(
                        file: file, line: places["[\(section)] volume"], key: "[\(section)] volume",
                        problem: "has no mixer control to set",
                        accepted: "name one as well: mixer = Speaker (see `amixer scontrols`)"))
            }
        }
        configuration.chooseRingDevice()
    }

    // MARK: Mistakes

    private func error(_ entry: ConfigurationEntry, _ problem: String, _ accepted: String) -> ConfigurationError {
        ConfigurationError(
            file: file, line: entry.line, key: "[\(entry.section)] \(entry.key)", problem: problem, accepted: accepted)
    }

    private mutating func add(_ entry: ConfigurationEntry, _ problem: String, _ accepted: String) {
        mistakes.append(error(entry, problem, accepted))
    }

    /// Reports an entry in an unknown section, or in none.
    private mutating func refuse(_ entry: ConfigurationEntry) {
        refused.insert(entry.section)
        if let moved = ConfigurationSection.moved[entry.section] {
            add(entry, moved.problem, "delete the section, \(moved.instead)")
        } else if entry.section.isEmpty {
            let others = Self.sections(with: entry.key)
            mistakes.append(
                ConfigurationError(
                    file: file, line: entry.line, key: entry.key, problem: "stands in no section",
                    accepted: "write \(others.isEmpty ? "the section's name" : others) above it"))
        } else {
            refuse(entry.section, entry.line)
        }
    }

    private mutating func refuse(_ section: String, _ line: Int) {
        guard refused.insert(section).inserted else { return }
        let names = ConfigurationSection.all.map(\.name)
        var accepted = Suggestion.words(near: section, among: names.map { ($0, [$0]) }).map { "[\($0)]" }
            .joined(separator: " or ")
        accepted = accepted.isEmpty ? "sections are " + ConfigurationSection.names : "did you mean \(accepted)?"
        if section.hasPrefix("headset ") { accepted = "the address is six octets: [headset AA:BB:CC:DD:EE:FF]" }
        mistakes.append(
            ConfigurationError(
                file: file, line: line, key: "[\(section)]", problem: "there is no such section", accepted: accepted))
    }

    private mutating func refuseKey(_ entry: ConfigurationEntry, _ section: ConfigurationSection) {
        let names = section.keys.map(\.name)
        let others = Self.sections(with: entry.key)
        let accepted =
            if let question = Suggestion.question(for: entry.key, among: names) {
                question
            } else if !others.isEmpty {
                "it is a key of \(others)"
            } else {
                "keys of [\(entry.section)] are \(names.joined(separator: ", "))"
            }
        add(entry, "there is no such key", accepted)
    }

    private static func sections(with key: String) -> String {
        ConfigurationSection.all.filter { $0.key(key) != nil }.map { "[\($0.name)]" }.joined(separator: " or ")
    }
}
