import ArgumentParser
import AudioDSP
import BTCallBench
import BluetoothTypes
import CallExchange
import CommandKit
import ControlLoop
import Foundation
import JSONText

/// `btcall-lab decode`: decodes a captured link and reports its faults; needs no daemon.
struct DecodeCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "decode",
        abstract: "Decode a captured synchronous link like btcalld, or SBC capabilities of A2DP.",
        usage: """
            btcall-lab decode --codec <codec> --packet-bytes <n> [--status <file>] [--json] -o <out.wav> <capture>
            btcall-lab decode --sbc-capabilities <hex> [--with <hex>] [--json]
            """,
        discussion: """
            CAPTURE contains the payload of the packets from the headset, one after the other; - is standard \
            input. Lost or damaged packets are concealed as in a call. A frame is a codec frame of 7.5 ms; for \
            CVSD it is a packet. frames = framesGood + framesConcealed, and OUT.wav is as long as all of them.

            Exit codes: 0 decoded, with any result; 1 OUT.wav cannot be written, or this program was built \
            without LC3; 2 a file cannot be read; 64 invalid command line.

            Examples:
              btcall-lab decode --codec msbc --packet-bytes 60 -o heard.wav link.bin
              btcall-lab decode --sbc-capabilities ffff0235
            """)

    enum Codec: String, ExpressibleByArgument, CaseIterable {
        case msbc, cvsd
        case lc3SWB = "lc3-swb"
    }

    @Option(help: "The codec of the link: msbc, cvsd or lc3-swb.")
    var codec: Codec?

    @Option(help: ArgumentHelp("Size of a packet in bytes; 0: each begins with its length in 16 bits.", valueName: "n"))
    var packetBytes: Int?

    @Option(
        help: ArgumentHelp("One byte per packet, 0 for good, as BT_PKT_STATUS; missing ones are 0.", valueName: "file"),
        completion: .file())
    var status: String?

    @Option(name: .short, help: ArgumentHelp("The audio.", valueName: "out.wav"), completion: .file())
    var output: String?

    @Option(help: ArgumentHelp("The four capability bytes of an SBC endpoint.", valueName: "hex"))
    var sbcCapabilities: String?

    @Option(name: .customLong("with"), help: ArgumentHelp("Capability bytes of the other endpoint.", valueName: "hex"))
    var other: String?

    @Flag(help: "Print JSON for programs.")
    var json = false

    @Argument(help: "The payload of a link's packets.", completion: .file())
    var capture: String?

    func validate() throws {
        if sbcCapabilities != nil {
            guard codec == nil, packetBytes == nil, status == nil, output == nil, capture == nil else {
                throw ValidationError("--sbc-capabilities goes with --with and --json only")
            }
            return
        }
        guard other == nil else { throw ValidationError("--with goes with --sbc-capabilities only") }
        guard codec != nil else { throw ValidationError("missing --codec: msbc, cvsd or lc3-swb") }
        guard let packetBytes else { throw ValidationError("missing --packet-bytes") }
        guard packetBytes >= 0 else { throw ValidationError("--packet-bytes accepts 0 and more") }
        guard output != nil else { throw ValidationError("missing -o <out.wav>") }
        guard capture != nil else { throw ValidationError("missing the capture") }
    }

    func run() throws {
        let code = decode(.terminal)
        if code != 0 { throw ExitCode(code) }
    }

    /// - Returns: the exit code.
    func decode(_ terminal: Output) -> Int32 {
        if let sbcCapabilities {
            let decoding = SBCDecoding(sbcCapabilities, with: other)
            if json { terminal.print(decoding.document) } else { decoding.lines.forEach(terminal.print) }
            return 0
        }
        // Validated above.
        guard let codec, let packetBytes, let output, let capture else { return 64 }
        let format: LinkFormat
        switch codec {
        case .msbc: format = .mSBC
        case .cvsd: format = .cvsd
        case .lc3SWB:
            guard LC3Codec.isAvailable else {
                terminal.printError(LC3Codec.howToBuild)
                return 1
            }
            format = .lc3SWB
        }
        do {
            let packets = LinkCapture(try Self.content(of: capture), packetBytes: packetBytes)
            let statuses = try status.map(Self.content) ?? []
            let report = try Self.decode(packets, statuses, format, to: output)
            if json { terminal.print(Self.document(report)) } else { Self.lines(report).forEach(terminal.print) }
            return 0
        } catch let unreadable as Unreadable {
            terminal.printError("\(unreadable.file): cannot be read: \(unreadable.reason)")
            return 2
        } catch {
            terminal.printError("\(error)")
            return 1
        }
    }

    private static func decode(
        _ packets: LinkCapture, _ statuses: [UInt8], _ format: LinkFormat, to path: String
    ) throws(WaveFileError) -> LinkDecoder.Report {
        var writer = try WaveWriter(path: path, rate: format.rate)
        var decoder = LinkDecoder(format)
        for (index, packet) in packets.enumerated() {
            decoder.receive(packet, status: index < statuses.count ? statuses[index] : 0)
            if decoder.audio.count >= 1 << 16 {
                try writer.append(decoder.audio)
                decoder.audio = []
            }
        }
        let report = decoder.finish()
        try writer.append(decoder.audio)
        return report
    }

    private struct Unreadable: Error {
        let file: String
        let reason: String
    }

    /// One day of a link is 700 MB.
    private static let mostBytes = 1 << 30

    private static func content(of file: String) throws(Unreadable) -> [UInt8] {
        if file == "-" {
            do {
                return [UInt8](try FileHandle.standardInput.readToEnd() ?? Data())
            } catch {
                throw Unreadable(file: "standard input", reason: error.localizedDescription)
            }
        }
        do throws(FileRefusal) {
            return try ForeignFile.read(file, atMost: mostBytes, kinds: .any)
        } catch {
            throw Unreadable(file: file, reason: error.problem)
        }
    }

    private static func document(_ report: LinkDecoder.Report) -> JSON {
        JSON(numbers(report).map { ($0.name, JSON($0.value)) })
    }

    private static func lines(_ report: LinkDecoder.Report) -> [String] {
        var facts = Facts()
        for number in numbers(report) { facts.add(number.name, String(number.value)) }
        return facts.lines
    }

    private static func numbers(_ report: LinkDecoder.Report) -> [(name: String, value: Int)] {
        [
            ("packets", report.packets), ("frames", report.frames), ("framesGood", report.framesGood),
            ("framesConcealed", report.framesConcealed), ("sequenceGaps", report.sequenceGaps),
            ("resyncs", report.resyncs), ("crcErrors", report.crcErrors), ("bytesSkipped", report.bytesSkipped),
            ("maxBurst", report.maxBurst),
        ]
    }
}
