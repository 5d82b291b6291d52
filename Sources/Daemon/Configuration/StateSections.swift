/// A state file with one section for each remembered headset, and one, the origin, for the conditions under which it is
/// valid.
///
/// btcalld wrote the file and can rewrite it, so that one invalid line refuses the whole file.
package struct StateSections: Sendable {
    package let file: StateFile
    /// Name of the origin's section; no headset's section has it.
    private let origin: String
    /// When btcalld rewrites the file, for messages.
    private let occasion: String

    package init(_ file: StateFile, origin: String, writtenWhen occasion: String) {
        self.file = file
        self.origin = origin
        self.occasion = occasion
    }

    /// Reads the file; an absent file is empty.
    ///
    /// - Parameters:
    ///   - key: the headset whose section an entry is in.
    ///   - memory: the initial memory of a headset; its entries are added to it.
    /// - Throws: `ConfigurationError` for a file that cannot be read (edited by hand, or damaged).
    package func load<Key: Hashable, Memory>(
        key: (ConfigurationEntry) throws(ConfigurationError) -> Key, into memory: Memory,
        apply: (ConfigurationEntry, inout Memory) throws(ConfigurationError) -> Void
    ) throws(ConfigurationError) -> (origin: [String: String], memories: [Key: Memory]) {
        var values: [String: String] = [:]
        var memories: [Key: Memory] = [:]
        guard file.exists else { return (values, memories) }
        for entry in try ConfigurationReader.entries(ofFile: file.path) {
            if entry.section == origin {
                values[entry.key] = entry.value
            } else {
                try apply(entry, &memories[key(entry), default: memory])
            }
        }
        return (values, memories)
    }

    /// The file's text.
    package func text(origin values: [(String, String)], _ sections: [(name: String, values: [(String, String)])])
        -> String
    {
        var text = ""
        for section in [(name: origin, values: values)] + sections {
            text += "[\(section.name)]\n"
            for (key, value) in section.values { text += "\(key) = \(value)\n" }
        }
        return text
    }

    package func number(_ entry: ConfigurationEntry, upTo most: Int64) throws(ConfigurationError) -> Int64 {
        guard let number = Int64(entry.value), (0...most).contains(number) else {
            throw error(entry, "\"\(entry.value)\" is not a number from 0 to \(most)")
        }
        return number
    }

    package func error(_ entry: ConfigurationEntry, _ problem: String) -> ConfigurationError {
        ConfigurationError(
            file: file.path, line: entry.line, key: "[\(entry.section)] \(entry.key)", problem: problem,
            accepted: "btcalld rewrites this file when \(occasion); remove it if it was edited")
    }
}
