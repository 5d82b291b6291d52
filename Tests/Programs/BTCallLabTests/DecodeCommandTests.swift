import AudioDSP
import BTCallBench
import CallExchange
import CommandKit
import CommandTestSupport
import Foundation
import Testing

@testable import BTCallLab

/// `btcall-lab decode` as its user sees it: a process with a status, a report and an audio file.
@Suite(.timeLimit(.minutes(1))) struct DecodeCommandTests {
    private struct Run {
        let text: String
        let status: Int32
        let wave: WaveFile?

        var report: [String: Any] {
            // Nil makes the test fail.
            (try? JSONSerialization.jsonObject(with: Data(text.utf8))) as? [String: Any] ?? [:]
        }
        subscript(key: String) -> Int? { report[key] as? Int }
    }

    /// Codec frames of 60 bytes: a voice of changing pitch.
    private static let coded: [[UInt8]] = {
        var codec = MSBCCodec()
        return (0..<80).map { index in
            let samples = (0..<120).map { place in
                let time = Double(index * 120 + place) / 16_000
                return Int16(8_000 * sin(2 * .pi * (300 + 200 * sin(3 * time)) * time))
            }
            var body = [UInt8](repeating: 0, count: 57)
            let isCoded = codec.encode(samples, into: &body)
            precondition(isCoded, "libsbc refused a whole frame")
            return [0x01, [0x08, 0x38, 0xC8, 0xF8][index % 4]] + body + [0]
        }
    }()

    /// Runs `btcall-lab decode`; the capture is `capture.bin` and the status, if any, `status.bin`.
    private func run(
        _ arguments: [String], _ capture: [UInt8]? = nil, status: [UInt8]? = nil,
        capturing captured: ChildProcess.Captured = .output
    ) throws -> Run {
        let folder = FileManager.default.temporaryDirectory.appending(path: "btcall-\(UUID())")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        if let capture { try Data(capture).write(to: folder.appending(path: "capture.bin")) }
        if let status { try Data(status).write(to: folder.appending(path: "status.bin")) }
        let program = try #require(LabCommandTests.program).path()
        let words = (["decode"] + arguments).map { "'\($0)'" }.joined(separator: " ")
        let process = try ChildProcess(
            "/bin/sh", ["-c", "cd '\(folder.path())' && exec '\(program)' \(words) </dev/null"], capturing: captured)
        let (text, code) = process.finish()
        let out = folder.appending(path: "out.wav").path()
        let wave = FileManager.default.fileExists(atPath: out) ? try WaveFile(path: out) : nil
        return Run(text: text, status: code, wave: wave)
    }

    private func decode(
        _ codec: String, _ packetBytes: Int, _ capture: [UInt8], status: [UInt8]? = nil
    ) throws -> Run {
        let statusWords = status == nil ? [] : ["--status", "status.bin"]
        let result = try run(
            ["--codec", codec, "--packet-bytes", String(packetBytes), "--json", "-o", "out.wav"] + statusWords
                + ["capture.bin"], capture, status: status)
        #expect(result.status == 0)
        let wave = try #require(result.wave)
        let frames = try #require(result["frames"])
        #expect(frames == (result["framesGood"] ?? -1) + (result["framesConcealed"] ?? -1))
        if codec == "msbc" {
            #expect(wave.rate == 16_000)
            #expect(wave.samples.count == frames * 120)
        } else if codec == "lc3-swb" {
            #expect(wave.rate == 32_000)
            #expect(wave.samples.count == frames * 240)
        } else {
            #expect(wave.rate == 8_000)
        }
        return result
    }

    @Test func `A good capture gives a report with all its numbers and audio of the same length`() throws {
        let run = try decode("msbc", 60, Self.coded.flatMap { $0 })
        #expect(
            run.text == """
                {
                  "packets": 80,
                  "frames": 80,
                  "framesGood": 80,
                  "framesConcealed": 0,
                  "sequenceGaps": 0,
                  "resyncs": 0,
                  "crcErrors": 0,
                  "bytesSkipped": 0,
                  "maxBurst": 0
                }

                """)
        let text = try self.run(
            ["--codec", "msbc", "--packet-bytes", "60", "-o", "out.wav", "capture.bin"], Self.coded.flatMap { $0 })
        #expect(text.text.hasPrefix("packets          80\nframes           80\n"))
    }

    @Test func `The status file marks bad packets, with any length`() throws {
        let bytes = Self.coded.flatMap { $0 }
        var status = [UInt8](repeating: 0, count: 80)
        for (index, code) in [(10, UInt8(1)), (30, 2), (31, 3)] { status[index] = code }
        for length in [32, 80, 500] {
            let given = Array((status + [UInt8](repeating: 1, count: 420)).prefix(length))
            let run = try decode("msbc", 60, bytes, status: given)
            #expect(run["packets"] == 80 && run["frames"] == 80 && run["framesConcealed"] == 3)
            #expect(run["maxBurst"] == 2 && run["resyncs"] == 0 && run["sequenceGaps"] == 0)
        }
        // 24 bytes per packet: two and a half per codec frame; the tenth lies in the fourth and the fifth.
        let narrow = try decode("msbc", 24, bytes, status: [0, 0, 0, 0, 0, 0, 0, 0, 0, 1])
        #expect(narrow["packets"] == 200 && narrow["frames"] == 80 && narrow["framesConcealed"] == 1)
        let cvsd = try decode("cvsd", 48, Array(bytes.prefix(480)), status: [0, 0, 1, 1])
        #expect(cvsd["packets"] == 10 && cvsd["frames"] == 10 && cvsd["framesConcealed"] == 2)
        #expect(cvsd["maxBurst"] == 2 && cvsd.wave?.samples.count == 240)
    }

    @Test func `Packets of CVSD are samples, and odd bytes are joined`() throws {
        let samples = (0..<300).map { Int16($0 * 50) }
        let bytes = samples.flatMap { [UInt8(truncatingIfNeeded: $0), UInt8(truncatingIfNeeded: $0 >> 8)] }
        for size in [1, 27, 60, 600, 9_999, Int.max] {
            let run = try decode("cvsd", size, bytes)
            #expect(run["packets"] == (600 + min(size, 600) - 1) / min(size, 600))
            #expect(run.wave?.samples == samples)
        }
    }

    @Test func `LC3-SWB is decoded if built in, otherwise the message says how to build it`() throws {
        let words = ["--codec", "lc3-swb", "--packet-bytes", "60", "-o", "out.wav", "capture.bin"]
        guard LC3Codec.isAvailable else {
            let refused = try run(words, [1, 2], capturing: .errors)
            #expect(refused.status == 1 && refused.text == "btcall-lab: \(LC3Codec.howToBuild)\n")
            return
        }
        var transmitter = LinkTransmitter(.lc3SWB)
        var capture: [UInt8] = []
        for index in 0..<50 {
            let audio = (0..<240).map { Int16(8_000 * sin(2 * .pi * Double(index * 240 + $0) / 80)) }
            var packet = [UInt8](repeating: 0, count: 60)
            #expect(transmitter.makePacket(&packet, 60, from: audio, 240) == 0)
            if index != 20 { capture += packet }
        }
        let run = try decode("lc3-swb", 60, capture)
        #expect(run["packets"] == 49 && run["frames"] == 50 && run["framesConcealed"] == 1)
        #expect(run["sequenceGaps"] == 1 && run["maxBurst"] == 1)
        #expect(run.wave?.samples.count == 50 * 240)
        _ = try decode("lc3-swb", 0, (0..<5_000).map { UInt8(truncatingIfNeeded: $0 &* $0) })
    }

    @Test func `Length prefixes may be zero, beyond the end or truncated`() throws {
        func packet(_ bytes: [UInt8], length: Int? = nil) -> [UInt8] {
            let count = length ?? bytes.count
            return [UInt8(truncatingIfNeeded: count), UInt8(truncatingIfNeeded: count >> 8)] + bytes
        }
        var capture: [UInt8] = []
        for frame in Self.coded[0..<20] {
            capture += packet([]) + packet(Array(frame[..<23])) + packet(Array(frame[23...]))
        }
        let whole = try decode("msbc", 0, capture)
        #expect(whole["packets"] == 60 && whole["framesGood"] == 20 && whole["framesConcealed"] == 0)
        let beyond = try decode("msbc", 0, capture + packet(Self.coded[20], length: 65_535))
        #expect(beyond["packets"] == 61 && beyond["framesGood"] == 21)
        let cut = try decode("msbc", 0, capture + [0x3C])
        #expect(cut.text == whole.text)
        let empty = try decode("msbc", 0, packet([]) + packet([]))
        #expect(empty["packets"] == 2 && empty["frames"] == 0)
        let cvsd = try decode("cvsd", 0, packet([]) + packet([1, 2]) + packet([]) + packet([3]) + packet([4]))
        #expect(cvsd["packets"] == 5 && cvsd["frames"] == 3 && cvsd.wave?.samples == [0x0201, 0x0403])
    }

    @Test func `Any bytes end with 0 and audio`() throws {
        var state: UInt64 = 7
        func random(_ below: Int) -> Int {
            state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
            return Int(state >> 33) % below
        }
        for codec in ["msbc", "cvsd"] {
            for size in [0, 1, 7, 60, 100_000] {
                let bytes = (0..<random(6_001)).map { _ in UInt8(random(256)) }
                let status = (0..<20).map { _ in UInt8(random(4)) }
                let decoded = try decode(codec, size, bytes, status: status)
                if codec == "cvsd", size > 0 { #expect(decoded.wave?.samples.count == bytes.count / 2) }
                let zeros = try decode(codec, size, [UInt8](repeating: 0, count: 600))
                if size == 60 { #expect(zeros["frames"] == 10) }
            }
            #expect(try decode(codec, 60, [])["packets"] == 0)
        }
    }

    @Test func `An unreadable file is named with the reason and leaves no audio, status 2`() throws {
        for (words, name) in [
            (["none.bin"], "none.bin"), (["."], "."), (["--status", "none.bin", "capture.bin"], "none.bin"),
        ] {
            let run = try run(
                ["--codec", "msbc", "--packet-bytes", "60", "-o", "out.wav"] + words, [1, 2], capturing: .errors)
            #expect(run.status == 2 && run.wave == nil)
            #expect(run.text.hasPrefix("btcall-lab: \(name): cannot be read: "))
            #expect(run.text.count > "btcall-lab: \(name): cannot be read: \n".count)
        }
        let output = try run(
            ["--codec", "msbc", "--packet-bytes", "60", "-o", "none/out.wav", "capture.bin"], [1], capturing: .errors)
        #expect(output.status == 1 && output.text == "btcall-lab: none/out.wav: No such file or directory\n")
    }

    @Test(arguments: [
        [], ["--codec", "msbc"], ["--codec", "aac", "--packet-bytes", "60", "-o", "out.wav", "capture.bin"],
        ["--codec", "msbc", "--packet-bytes", "-1", "-o", "out.wav", "capture.bin"],
        ["--codec", "msbc", "--packet-bytes", "60", "--with", "ffff0235", "-o", "out.wav", "capture.bin"],
        ["--sbc-capabilities", "ffff0235", "--codec", "msbc"], ["--with", "ffff0235"],
    ])
    func `A command line of neither form is refused`(arguments: [String]) throws {
        #expect(try run(arguments, [1, 2]).status == 64)
    }

    @Test func `SBC capabilities are decoded and a configuration is selected`() throws {
        let run = try run(["--sbc-capabilities", "FF:ff 02:35", "--json"])
        #expect(run.status == 0)
        #expect(run.report["rates"] as? [Int] == [16_000, 32_000, 44_100, 48_000])
        #expect(run.report["modes"] as? [String] == ["mono", "dual", "stereo", "joint"])
        #expect(run.report["blocks"] as? [Int] == [4, 8, 12, 16] && run.report["subbands"] as? [Int] == [4, 8])
        #expect(run.report["allocation"] as? [String] == ["snr", "loudness"])
        #expect(run["minBitpool"] == 2 && run["maxBitpool"] == 53 && run.report["error"] == nil)
        let selected = try #require(run.report["selected"] as? [String: Any])
        #expect(selected["rate"] as? Int == 48_000 && selected["mode"] as? String == "joint")
        #expect(selected["blocks"] as? Int == 16 && selected["subbands"] as? Int == 8)
        #expect(selected["allocation"] as? String == "loudness")
        #expect(selected["minBitpool"] as? Int == 2 && selected["maxBitpool"] as? Int == 53)
        let two = try self.run(["--sbc-capabilities", "ffff0235", "--with", "0x22220a20", "--json"])
        #expect(two.report["rates"] as? [Int] == [44_100] && two.report["modes"] as? [String] == ["stereo"])
        #expect(two["minBitpool"] == 10 && two["maxBitpool"] == 32)
        let text = try self.run(["--sbc-capabilities", "21150235"])
        #expect(
            text.text.hasSuffix(
                "selected    44100 Hz, joint, 16 blocks, 8 subbands, loudness, bitpool 2 to 53: 21150235\n"))
    }

    @Test(
        arguments: [
            (["ffff02"], "wrong size: SBC capabilities are 4 bytes, not 3"),
            ([""], "wrong size: SBC capabilities are 4 bytes, not 0"),
            (["ffff0235f"], "wrong size: half a byte too many in ffff0235f"),
            (["headset"], "not hexadecimal: headset"),
            (["0fff0235"], "empty field: no sampling frequency"),
            (["ffff3502"], "the bitpool range is upside down: 53 to 2"),
            (["ffff00ff"], nil),
            (["21150235", "--with", "11150235"], "nothing in common: no sampling frequency"),
            (["21150235", "--with", "f1150235"], nil),
            (["21150235", "--with", "21153640"], "nothing in common: bitpools 2 to 53 and 54 to 64"),
            (["21150235", "--with", "20150235"], "--with: empty field: no channel mode"),
            (["21150235", "--with", "2015"], "--with: wrong size: SBC capabilities are 4 bytes, not 2"),
        ] as [([String], String?)])
    func `An error in SBC capabilities is printed in words, status 0`(arguments: [String], error: String?) throws {
        let run = try run(["--sbc-capabilities"] + arguments + ["--json"])
        #expect(run.status == 0)
        #expect(run.report["error"] as? String == error)
        #expect((run.report["selected"] == nil) == (error != nil))
        #expect(
            Set(run.report.keys) == [
                "rates", "modes", "blocks", "subbands", "allocation", "minBitpool", "maxBitpool",
                error == nil ? "selected" : "error",
            ])
    }
}
