import Foundation
import HandsFree
import Testing

@Suite struct DialogueTests {
    private static let folder = Bundle.module.bundleURL.appending(path: "Dialogues")

    /// Every dialogue next to this test, ordered by file, and errors in the files.
    private static let loaded: (dialogues: [Dialogue], errors: [DialogueError]) = {
        let files = (try? FileManager.default.contentsOfDirectory(at: folder, includingPropertiesForKeys: nil)) ?? []
        var dialogues: [Dialogue] = []
        var errors: [DialogueError] = []
        for url in files.filter({ $0.pathExtension == "dialogue" }).sorted(by: { $0.path < $1.path }) {
            let name = url.lastPathComponent
            do {
                let text = String(decoding: try Data(contentsOf: url), as: UTF8.self)
                dialogues += try DialogueReader.dialogues(text, file: name)
            } catch {
                errors.append(error as? DialogueError ?? DialogueError(file: name, line: 1, reason: "\(error)"))
            }
        }
        return (dialogues, errors)
    }()

    static var all: [Dialogue] { loaded.dialogues }

    /// Dialogues that the gateway does not keep yet: name and reason (open.txt).
    private static let open: [String: String] = {
        let data = (try? Data(contentsOf: folder.appending(path: "open.txt"))) ?? Data()
        let lines = String(decoding: data, as: UTF8.self).split(separator: "\n")
        let names = lines.filter { $0.hasPrefix("dialogue: ") }.map { String($0.dropFirst(10)) }
        let reasons = lines.filter { $0.hasPrefix("why: ") }.map { String($0.dropFirst(5)) }
        return Dictionary(zip(names, reasons)) { first, _ in first }
    }()

    // MARK: - Files

    @Test func `the files of dialogues are valid, and no name is used twice`() {
        #expect(Self.loaded.errors.map(\.description) == [])
        #expect(Self.all.count >= 245)
        #expect(Dictionary(grouping: Self.all, by: \.name).filter { $0.value.count > 1 }.keys.sorted() == [])
        #expect(Set(Self.open.keys).subtracting(Self.all.map(\.name)) == [])
    }

    @Test func `every dialogue has a configuration that this gateway supports, or is open`() {
        for dialogue in Self.all where Self.open[dialogue.name] == nil {
            #expect(throws: Never.self, "\(dialogue.file):\(dialogue.line)") { try dialogue.configuration() }
        }
    }

    /// Cases of the profile's qualification suite that a gateway shows in its dialogue (by their names only), and quirks of
    /// headsets, except those tested elsewhere: settings of the audio link in the kernel and the lab, batteries of other
    /// protocols and two connections at once in the daemon, call forwarding nowhere.
    @Test func `each case that a dialogue can show has one`() {
        let cases: [String: [Int]] = [
            "SLC/BV": [1, 2, 3, 4, 5, 6, 7, 9, 10, 11], "SLC/BI": [1], "OOR/BV": [1, 2], "TRS/BV": [1],
            "PSI/BV": [1, 2, 3, 4], "ACS/BV": [4, 6, 8, 10, 11], "ACR/BV": [1, 2], "ACC/BI": [14],
            "ACC/BV": [9, 15, 16, 17, 18, 19, 20, 21, 26, 27, 28, 29, 32, 33, 34, 35], "CLI/BV": [1],
            "ICA/BV": [1, 2, 4, 5, 6, 7, 8, 9], "ICR/BV": [1, 2], "TCA/BV": [1, 2, 3, 4, 5, 6], "ATH/BV": [3, 4, 5, 6],
            "ATA/BV": [1, 2], "OCN/BV": [1], "OCM/BV": [1, 2], "OCL/BV": [1, 2], "TWC/BV": [1, 2, 3, 4, 5, 6],
            "CIT/BV": [1], "ENO/BV": [1, 2], "VRA/BV": [1, 2], "VRA/BI": [1], "TDC/BV": [1], "RSV/BV": [1, 2, 3],
            "RMV/BV": [1, 2, 3], "ECS/BV": [1, 2, 3], "ECC/BV": [1, 2], "ECC/BI": [3, 4], "NUM/BV": [1],
            "IIA/BV": [1, 2, 3, 5], "IID/BV": [1, 2, 3, 4], "IIC/BV": [1, 2, 3], "HFI/BV": [2], "HFI/BI": [3],
        ]
        let wanted = cases.flatMap { family, numbers in numbers.map { "\(family)-\($0 < 10 ? "0" : "")\($0)" } }
        let quirks = (1...27).filter { $0 != 15 && $0 != 20 }.map { "A\($0)" }
        let rules = (1...14).filter { $0 != 13 }.map { "rule \($0)" }
        let shown = Set(Self.all.flatMap(\.cases))
        #expect(Set(wanted + quirks + rules).subtracting(shown).sorted() == [])
    }

    // MARK: - The gateway

    @Test(arguments: all)
    func `the gateway keeps the dialogue`(_ dialogue: Dialogue) {
        expectNone(of: dialogue) { [("whole", DialoguePlayer.play(dialogue))] }
    }

    @Test(arguments: all)
    func `the dialogue is the same however its bytes are split`(_ dialogue: Dialogue) {
        expectNone(of: dialogue) {
            let cuts = (1..<(dialogue.positions + 1)).map { position in
                let mismatch = DialoguePlayer.play(dialogue) { bytes in
                    [Array(bytes.prefix(position)), Array(bytes.dropFirst(position))]
                }
                return ("cut at \(position)", mismatch)
            }
            return cuts + [("byte by byte", DialoguePlayer.play(dialogue) { bytes in bytes.map { [$0] } })]
        }
    }

    @Test(arguments: all)
    func `the dialogue is the same when the headset does not wait`(_ dialogue: Dialogue) {
        expectNone(of: dialogue) { [("joined", DialoguePlayer.play(dialogue.joined))] }
    }

    /// Records the first mismatch of several ways to play the dialogue; an open one must have a mismatch.
    private func expectNone(of dialogue: Dialogue, _ play: () -> [(how: String, mismatch: DialoguePlayer.Mismatch?)]) {
        func check() {
            guard let first = play().first(where: { $0.mismatch != nil }), let mismatch = first.mismatch else { return }
            Issue.record("\(first.how): \(mismatch)")
        }
        if let reason = Self.open[dialogue.name] {
            withKnownIssue("\(reason)") { check() }
        } else {
            check()
        }
    }
}
