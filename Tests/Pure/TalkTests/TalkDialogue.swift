import BluetoothTypes
import Foundation
import Talk
import TalkWords
import Testing

/// A conversation between keys, a call's floor and its provider (Dialogues/README.md).
struct TalkDialogue: Sendable, CustomTestStringConvertible {
    struct Step: Sendable {
        let line: Int
        /// `call begins`, `mic talk 1`, `wait 200`.
        let input: [String]
        /// `microphone open`, `ask`…
        var outputs: [String] = []
    }

    var name = ""
    var line = 0
    var settings = TalkSettings(mode: .push)
    /// Name and words of each device.
    var devices: [(name: String, words: [String])] = []
    var steps: [Step] = []

    var testDescription: String { name }

    struct Mistake: Error, CustomStringConvertible {
        let description: String
    }

    /// Reads a file of dialogues; refuses anything unknown.
    static func dialogues(_ text: String, file: String) throws -> [TalkDialogue] {
        var dialogues: [TalkDialogue] = []
        for (index, raw) in text.split(separator: "\n", omittingEmptySubsequences: false).enumerated() {
            let words = raw.split(separator: " ").map(String.init)
            guard let first = words.first, !first.hasPrefix("#") else { continue }
            func mistake(_ what: String) -> Mistake { Mistake(description: "\(file):\(index + 1): \(what): \(raw)") }
            if first == "dialogue:" {
                dialogues.append(TalkDialogue(name: words.dropFirst().joined(separator: " "), line: index + 1))
                continue
            }
            guard !dialogues.isEmpty else { throw mistake("no dialogue has begun") }
            let last = dialogues.count - 1
            switch first {
            case "settings:":
                guard dialogues[last].steps.isEmpty, set(Array(words.dropFirst()), in: &dialogues[last].settings) else {
                    throw mistake("these are no settings")
                }
            case "device:":
                guard words.count >= 3 else { throw mistake("a device has a name and a kind") }
                dialogues[last].devices.append((words[1], Array(words.dropFirst(2))))
            case ">": dialogues[last].steps.append(Step(line: index + 1, input: Array(words.dropFirst())))
            case "<":
                guard let step = dialogues[last].steps.indices.last else { throw mistake("nothing was said before") }
                dialogues[last].steps[step].outputs.append(words.dropFirst().joined(separator: " "))
            default: throw mistake("this is neither a header nor a step")
            }
        }
        return dialogues
    }

    /// Reads `mode push`, `tail 200`…; false if not understood.
    static func set(_ words: [String], in settings: inout TalkSettings) -> Bool {
        var rest = words[...]
        while let key = rest.popFirst() {
            guard let value = rest.popFirst() else { return false }
            let time = Int64(value).map { Duration.milliseconds($0) }
            switch (key, time) {
            case ("mode", _):
                guard let mode = TalkMode(rawValue: value) else { return false }
                settings.mode = mode
            case ("tail", let time?): settings.tail = time
            case ("limit", let time?): settings.limit = time
            case ("wait", let time?): settings.permissionWait = time
            case ("linger", let time?): settings.linkLinger = time
            case ("asks", _): settings.asksPermission = value == "yes"
            case ("tones", _):
                let tones = value.split(separator: ",").map { TalkTone(rawValue: String($0)) }
                guard !tones.contains(nil) || value == "-" else { return false }
                settings.tones = Set(tones.compactMap { $0 })
            default: return false
            }
        }
        return true
    }

    /// All dialogues beside the tests, and the mistakes in their files.
    static let loaded: (dialogues: [TalkDialogue], mistakes: [String]) = {
        let folder = Bundle.module.bundleURL.appending(path: "Dialogues")
        let files = (try? FileManager.default.contentsOfDirectory(at: folder, includingPropertiesForKeys: nil)) ?? []
        var dialogues: [TalkDialogue] = []
        var mistakes: [String] = []
        for url in files.filter({ $0.pathExtension == "dialogue" }).sorted(by: { $0.path < $1.path }) {
            do {
                let text = String(decoding: try Data(contentsOf: url), as: UTF8.self)
                dialogues += try TalkDialogue.dialogues(text, file: url.lastPathComponent)
            } catch {
                mistakes.append("\(error)")
            }
        }
        return (dialogues, mistakes)
    }()
}
