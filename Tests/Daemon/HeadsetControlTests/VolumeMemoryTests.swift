import BluetoothTypes
import Configuration
import ControlLoop
import Diagnostics
import Foundation
import HandsFree
import HeadsetControl
import TestSupport
import Testing

@Suite @ControlPlane struct VolumeMemoryTests {
    private let first = BluetoothAddress(value: 0x0000_5E00_5301)
    private let second = BluetoothAddress(value: 0x0000_5E00_5302)
    private let adapter = BluetoothAddress(value: 0x0000_5E00_5300)
    private let folder = FileManager.default.temporaryDirectory.appending(path: "btcall-volumes-\(UUID().uuidString)")
    private let log = LogLines()
    private let problems: ProblemList

    init() {
        problems = ProblemList(logger: log.logger)
    }

    private func memory(pause: Duration = .seconds(3600)) -> VolumeMemory {
        VolumeMemory(
            directory: folder.path, pause: pause, writer: StateWriter(isImmediate: true), problems: problems,
            logger: log.logger)
    }

    private var file: URL { folder.appending(path: "volumes.conf") }
    private var text: String? {
        // Without the file there is no text.
        try? String(contentsOf: file, encoding: .utf8)
    }

    private func remove() {
        // It may be missing, and may remain.
        try? FileManager.default.removeItem(at: folder)
    }

    @Test func `Volumes are kept for each headset and role`() {
        defer { remove() }
        let before = memory()
        before.note(.init(speaker: 11), of: first)
        before.note(.init(speaker: 3, microphone: 0), of: second)
        before.note(.init(microphone: 15), of: first)
        before.flush()
        let after = memory()
        #expect(after.volumes(of: first) == HeadsetVolumes(speaker: 11, microphone: 15))
        #expect(after.volumes(of: second) == HeadsetVolumes(speaker: 3, microphone: 0))
        #expect(after.volumes(of: adapter) == HeadsetVolumes())
        after.forget(first)
        after.flush()
        #expect(memory().volumes(of: first) == HeadsetVolumes())
        #expect(problems.problems.isEmpty && log.all.isEmpty)
    }

    @Test func `A person who turns the volume causes one write`() async throws {
        defer { remove() }
        let memory = memory(pause: .milliseconds(200))
        for volume in 0...9 { memory.note(.init(speaker: volume), of: first) }
        #expect(text == nil)
        try await eventually("the file is written") { self.text?.contains("speaker = 9\n") == true }
        let written = text
        for volume in 10...15 { memory.note(.init(speaker: volume), of: first) }
        #expect(text == written)
        try await eventually("the file is written again") { self.text?.contains("speaker = 15\n") == true }
        // Back to the earlier volume: nothing to write.
        try FileManager.default.removeItem(at: file)
        memory.note(.init(speaker: 3), of: first)
        memory.note(.init(speaker: 15), of: first)
        memory.flush()
        #expect(text == nil)
    }

    @Test func `Valid entries of a damaged file are used, and the rest is reported in the log`() throws {
        defer { remove() }
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        let damaged = """
            [\(first)]
            speaker = 7
            microphone = loud
            [nobody]
            speaker = 3
            [\(second)]
            speaker = 16
            colour = 3
            microphone = 2
            """
        try damaged.write(to: file, atomically: true, encoding: .utf8)
        let memory = memory()
        #expect(memory.volumes(of: first) == HeadsetVolumes(speaker: 7))
        #expect(memory.volumes(of: second) == HeadsetVolumes(microphone: 2))
        #expect(
            log.all.map { String($0.prefix { $0 != ";" }.dropFirst("warning: \(folder.path)".count)) } == [
                "/volumes.conf:3: [\(first)] microphone = loud is ignored",
                "/volumes.conf:5: [nobody] speaker = 3 is ignored",
                "/volumes.conf:7: [\(second)] speaker = 16 is ignored",
                "/volumes.conf:8: [\(second)] colour = 3 is ignored",
            ])
        memory.note(.init(speaker: 8), of: first)
        memory.flush()
        #expect(text?.hasSuffix("[\(second)]\nmicrophone = 2\n[\(first)]\nspeaker = 8\n") == true)
    }

    @Test(arguments: ["garbage\u{1}\n", "[unfinished\n", String(repeating: "x", count: 5000)])
    func `An unreadable file is reported in the log, and replaced`(contents: String) throws {
        defer { remove() }
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        try contents.write(to: file, atomically: true, encoding: .utf8)
        let memory = memory()
        #expect(log.all.count == 1 && log.all[0].hasPrefix("error: volumes of headsets are not restored: "))
        memory.note(.init(speaker: 8), of: first)
        memory.flush()
        #expect(self.memory().volumes(of: first) == HeadsetVolumes(speaker: 8))
    }

    @Test func `An unwritable directory is a problem until it is writable`() throws {
        defer { remove() }
        try "".write(to: folder, atomically: true, encoding: .utf8)
        let memory = memory()
        memory.note(.init(speaker: 8), of: first)
        memory.flush()
        #expect(problems.problems.map(\.id) == ["volumes"])
        #expect(problems.problems.first?.remedy.contains("\(file.path): open") == true)
        try FileManager.default.removeItem(at: folder)
        memory.flush()
        #expect(problems.problems.isEmpty)
        #expect(self.memory().volumes(of: first) == HeadsetVolumes(speaker: 8))
    }

    @Test func `Of too many headsets the one that was changed the longest ago is forgotten`() {
        defer { remove() }
        let memory = memory()
        let addresses = (0...UInt64(VolumeMemory.limit)).map { BluetoothAddress(value: 0x5E00_0000 + $0) }
        for address in addresses.dropLast() { memory.note(.init(speaker: 5), of: address) }
        memory.note(.init(microphone: 5), of: addresses[0])
        memory.note(.init(speaker: 5), of: addresses[VolumeMemory.limit])
        memory.flush()
        let after = self.memory()
        #expect(after.volumes(of: addresses[1]) == HeadsetVolumes())
        for address in [addresses[0], addresses[2], addresses[VolumeMemory.limit]] {
            #expect(after.volumes(of: address).speaker == 5)
        }
    }

    // MARK: Batteries

    @Test func `The latest battery report counts, unless a coarser one agrees with the present one`() {
        typealias Step = (report: BatteryReport, percent: Int, source: BatteryReport.Source)
        let steps: [Step] = [
            (.init(.apple, ofTen: 6), 70, .apple),
            (.init(.hfIndicator, percent: 76, level: 76, levels: 101), 76, .hfIndicator),
            (.init(.apple, ofTen: 7), 76, .hfIndicator),
            (.init(.apple, ofTen: 6), 76, .hfIndicator),
            (.init(.apple, ofTen: 5), 60, .apple),
            (.init(.apple, ofTen: 4), 50, .apple),
            (.init(.csr, ofTen: 5), 60, .csr),
            (.init(.plantronics, percent: 33, level: 1, levels: 4), 60, .csr),
            (.init(.plantronics, percent: 0, level: 0, levels: 4), 0, .plantronics),
            (.init(.zebra, percent: 5, level: 5, levels: 101), 5, .zebra),
            (.init(.hfIndicator, percent: 4, level: 4, levels: 101), 4, .hfIndicator),
        ]
        var battery = HeadsetBattery()
        for (index, step) in steps.enumerated() {
            battery.received(step.report)
            #expect(battery.report?.percent == step.percent && battery.report?.source == step.source, "step \(index)")
        }
    }

    @Test func `The board's battery is shown in six steps, and as full without a battery`() {
        let expected = [0: 0, 9: 0, 10: 1, 29: 1, 30: 2, 50: 3, 69: 3, 70: 4, 89: 4, 90: 5, 100: 5]
        for (percent, level) in expected { #expect(BoardBattery.level(percent) == level, "\(percent)") }
        #expect(BoardBattery.level(nil) == 5 && BoardBattery.level(-20) == 0 && BoardBattery.level(300) == 5)
    }
}
