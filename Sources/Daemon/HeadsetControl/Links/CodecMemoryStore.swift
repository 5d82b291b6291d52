package import BluetoothTypes
package import Configuration
import Glibc
package import HandsFree

/// The file of `CodecMemories`: `codecs.conf` in the state directory.
///
/// Its contents hold for one kernel and one set of our codecs; with others they are void.
package struct CodecMemoryStore: Sendable {
    package var file: StateFile { sections.file }
    /// The origin section names kernel and codecs; the other sections are named ADAPTER HEADSET.
    private let sections: StateSections
    private let kernel: String

    /// - Parameters:
    ///   - directory: absolute; created if missing.
    ///   - kernel: the running release.
    package init(directory: String, kernel: String = runningKernel) {
        sections = StateSections(
            StateFile("codecs.conf", in: directory), origin: "learnt with", writtenWhen: "it learns something")
        self.kernel = kernel
    }

    /// The release of the kernel, as `uname -r` prints it.
    package static var runningKernel: String {
        var names = utsname()
        guard uname(&names) == 0 else { return "" }
        return withUnsafeBytes(of: names.release) { bytes in
            String(decoding: bytes.prefix { $0 != 0 }, as: UTF8.self)
        }
    }

    /// Reads the file; returns nothing if it is absent, or of another kernel or other codecs.
    ///
    /// - Parameter codecs: ours.
    /// - Throws: `ConfigurationError` for a file that cannot be read (edited by hand, or damaged).
    package func load(codecs: [VoiceCodec]) throws(ConfigurationError) -> [CodecMemories.Key: CodecMemory] {
        let (origin, readings) = try sections.load(key: key, into: Reading(), apply: read)
        guard origin["kernel"] == kernel, origin["codecs"] == Self.text(codecs) else { return [:] }
        return readings.mapValues(\.memory)
    }

    /// The file's text.
    package func text(_ memories: [CodecMemories.Key: CodecMemory], codecs: [VoiceCodec]) -> String {
        let all = memories.sorted { $0.key < $1.key }.map { key, memory in
            var values = [("offered", Self.text(memory.offered))]
            if !memory.lacking.isEmpty {
                values.append(("lacking", Self.text(memory.lacking.sorted { $0.rawValue < $1.rawValue })))
            }
            if let ceiling = memory.ceiling { values.append(("ceiling", Self.text([ceiling]))) }
            values += [("failures", "\(memory.failures)"), ("unanswered", "\(memory.unanswered)")]
            return (name: "\(key.adapter) \(key.headset)", values: values)
        }
        return sections.text(origin: [("kernel", kernel), ("codecs", Self.text(codecs))], all)
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
            throw sections.error(entry, "this section is not of an adapter and a headset")
        }
        return CodecMemories.Key(adapter: adapter, headset: headset)
    }

    private func read(_ entry: ConfigurationEntry, into reading: inout Reading) throws(ConfigurationError) {
        switch entry.key {
        case "offered": reading.offered = try codecs(entry)
        case "lacking": reading.lacking = Set(try codecs(entry))
        case "ceiling": reading.ceiling = try codecs(entry).first
        case "failures": reading.failures = try count(entry)
        case "unanswered": reading.unanswered = try count(entry)
        default: throw sections.error(entry, "there is no such key")
        }
    }

    private func codecs(_ entry: ConfigurationEntry) throws(ConfigurationError) -> [VoiceCodec] {
        var found: [VoiceCodec] = []
        for word in entry.value.split(whereSeparator: { $0 == "," || $0 == " " }) {
            guard let codec = VoiceCodec.allCases.first(where: { Self.text([$0]) == word }) else {
                throw sections.error(entry, "\"\(word)\" is no codec")
            }
            found.append(codec)
        }
        return found
    }

    private func count(_ entry: ConfigurationEntry) throws(ConfigurationError) -> Int {
        Int(try sections.number(entry, upTo: 1000))
    }

    private static func text(_ codecs: [VoiceCodec]) -> String {
        codecs.map { $0.description.lowercased() }.joined(separator: ", ")
    }
}
