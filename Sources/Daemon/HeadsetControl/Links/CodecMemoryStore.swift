package import BluetoothTypes
package import Configuration
import Glibc
package import HandsFree

/// The file of `CodecMemories`: `codecs.conf` in the state directory.
///
/// What was learnt is true of a kernel and of what we offer: with another kernel, or other codecs of ours, it is void.
package struct CodecMemoryStore: Sendable {
    package let file: StateFile
    private let kernel: String

    /// The section of what it was learnt with; the other sections are named ADAPTER HEADSET.
    private static let origin = "learnt with"

    /// - Parameters:
    ///   - directory: absolute; made when it does not exist.
    ///   - kernel: the release that runs.
    package init(directory: String, kernel: String = runningKernel) {
        file = StateFile("codecs.conf", in: directory)
        self.kernel = kernel
    }

    /// The release of the kernel, as `uname -r` has it.
    package static var runningKernel: String {
        var names = utsname()
        guard uname(&names) == 0 else { return "" }
        return withUnsafeBytes(of: names.release) { bytes in
            String(decoding: bytes.prefix { $0 != 0 }, as: UTF8.self)
        }
    }

    /// What was kept; an absent file is nothing, and so is one of another kernel or of other codecs.
    ///
    /// - Parameter codecs: ours.
    /// - Throws: `ConfigurationError` for a file that cannot be read (edited by hand, or damaged).
    package func load(codecs: [VoiceCodec]) throws(ConfigurationError) -> [CodecMemories.Key: CodecMemory] {
        guard file.exists else { return [:] }
        var origin: [String: String] = [:]
        var sections: [(key: CodecMemories.Key, reading: Reading)] = []
        for entry in try ConfigurationReader.entries(ofFile: file.path) {
            if entry.section == Self.origin {
                origin[entry.key] = entry.value
                continue
            }
            let key = try key(entry)
            if sections.last?.key != key { sections.append((key, Reading())) }
            try take(entry, into: &sections[sections.count - 1].reading)
        }
        guard origin["kernel"] == kernel, origin["codecs"] == Self.text(codecs) else { return [:] }
        return Dictionary(sections.map { ($0.key, $0.reading.memory) }) { _, last in last }
    }

    /// The file's text.
    package func text(_ memories: [CodecMemories.Key: CodecMemory], codecs: [VoiceCodec]) -> String {
        var text = "[\(Self.origin)]\nkernel = \(kernel)\ncodecs = \(Self.text(codecs))\n"
        for (key, memory) in memories.sorted(by: { $0.key < $1.key }) {
            text += "[\(key.adapter) \(key.headset)]\n"
            text += "offered = \(Self.text(memory.offered))\n"
            if !memory.lacking.isEmpty {
                text += "lacking = \(Self.text(memory.lacking.sorted { $0.rawValue < $1.rawValue }))\n"
            }
            if let ceiling = memory.ceiling { text += "ceiling = \(Self.text([ceiling]))\n" }
            text += "failures = \(memory.failures)\nunanswered = \(memory.unanswered)\n"
        }
        return text
    }

    // MARK: Reading

    private struct Reading {
        var lacking: Set<VoiceCodec> = []
        var ceiling: VoiceCodec?
        var failures = 0
        var unanswered = 0
        var offered: [VoiceCodec] = []

        var memory: CodecMemory {
            CodecMemory(
                lacking: lacking, ceiling: ceiling, failures: failures, unanswered: unanswered, offered: offered)
        }
    }

    private func key(_ entry: ConfigurationEntry) throws(ConfigurationError) -> CodecMemories.Key {
        let words = entry.section.split(separator: " ")
        guard words.count == 2, let adapter = BluetoothAddress(words[0]), let headset = BluetoothAddress(words[1])
        else {
            throw error(entry, "this section is not of an adapter and a headset")
        }
        return CodecMemories.Key(adapter: adapter, headset: headset)
    }

    private func take(_ entry: ConfigurationEntry, into reading: inout Reading) throws(ConfigurationError) {
        switch entry.key {
        case "offered": reading.offered = try codecs(entry)
        case "lacking": reading.lacking = Set(try codecs(entry))
        case "ceiling": reading.ceiling = try codecs(entry).first
        case "failures": reading.failures = try count(entry)
        case "unanswered": reading.unanswered = try count(entry)
        default: throw error(entry, "there is no such key")
        }
    }

    private func codecs(_ entry: ConfigurationEntry) throws(ConfigurationError) -> [VoiceCodec] {
        var found: [VoiceCodec] = []
        for word in entry.value.split(whereSeparator: { $0 == "," || $0 == " " }) {
            guard let codec = VoiceCodec.allCases.first(where: { Self.text([$0]) == word }) else {
                throw error(entry, "\"\(word)\" is no codec")
            }
            found.append(codec)
        }
        return found
    }

    private func count(_ entry: ConfigurationEntry) throws(ConfigurationError) -> Int {
        guard let count = Int(entry.value), (0...1000).contains(count) else {
            throw error(entry, "\"\(entry.value)\" is not a number from 0 to 1000")
        }
        return count
    }

    private func error(_ entry: ConfigurationEntry, _ problem: String) -> ConfigurationError {
        ConfigurationError(
            file: file.path, line: entry.line, key: "[\(entry.section)] \(entry.key)", problem: problem,
            accepted: "btcalld writes this file anew when it learns something; remove it if it was edited")
    }

    private static func text(_ codecs: [VoiceCodec]) -> String {
        codecs.map { $0.description.lowercased() }.joined(separator: ", ")
    }
}
