import AudioDSP
import BTCallDaemon
import BTCallSimulator
import BluetoothTypes
import Configuration
import ControlLoop
import DBus
import Foundation
import Testing

extension DaemonTests {
    /// The features announced in +BRSF and in the service record, and the statement of conformance for them (the page
    /// Conformance, "What is announced").
    @Suite @ControlPlane struct AnnouncementTests {
        /// A row of the table.
        private struct Row {
            let feature: String
            let bits: [Int]
            let record: String
            let items: String
            let daemon: String
        }

        private static func page() throws -> String {
            let root = URL(filePath: #filePath).appending(path: "../../../..").standardized
            let page = root.appending(path: "docs/inside/Conformance.md")
            let text = String(decoding: try Data(contentsOf: page), as: UTF8.self)
            return text.components(separatedBy: "\n## ").first { $0.hasPrefix("What is announced") } ?? ""
        }

        private static func rows() throws -> [Row] {
            try page().split(separator: "\n").compactMap { line in
                guard line.hasPrefix("| ") else { return nil }
                let cells = line.dropFirst(2).dropLast(2).components(separatedBy: " | ")
                guard cells.count == 6, cells[0] != "feature" else { return nil }
                return Row(
                    feature: cells[0], bits: cells[1].components(separatedBy: ", ").compactMap { Int($0) },
                    record: cells[2], items: cells[3], daemon: cells[5])
            }
        }

        @Test(
            arguments: [
                ([VoiceCodec.mSBC, .cvsd], false), ([.cvsd], false), ([.lc3SWB, .mSBC, .cvsd], true),
                ([.lc3SWB, .cvsd], false),
            ])
        func `+BRSF, the service record and the page about conformance agree`(
            _ codecs: [VoiceCodec], _ hasDuration: Bool
        ) async throws {
            let rows = try Self.rows()
            #expect(rows.flatMap(\.bits).sorted() == Array(0...14))
            try await Box.run(
                configure: {
                    $0.codecs = codecs
                    $0.callDuration = hasDuration
                    $0.voiceProcessing = .preferred
                },
                body: { box in
                    let ears = try await box.connect(Box.first, codecs: [.cvsd, .mSBC])
                    let line = ears.headset.transcript.first { $0.contains("+BRSF: ") }
                    let said = try #require(line?.split(separator: " ").last.flatMap { UInt32($0) })
                    let profile = try #require(box.bluez.profiles.first { $0.uuid == .handsFreeAudioGateway })
                    #expect(profile.options["Version"] == .uint16(0x0109))
                    guard case .uint16(let recorded)? = profile.options["Features"] else {
                        Issue.record("no features in the record: \(profile.options)")
                        return
                    }
                    for row in rows {
                        let isOn = row.daemon.hasPrefix("yes") || (row.daemon == "`callDuration`" && hasDuration)
                        for bit in row.bits {
                            #expect(said >> UInt32(bit) & 1 == (isOn ? 1 : 0), "\(row.feature): +BRSF")
                            if row.record == "bit \(bit)" {
                                #expect(recorded >> UInt16(bit) & 1 == (isOn ? 1 : 0), "\(row.feature): record")
                            }
                        }
                    }
                    #expect(said >> 15 == 0)
                    let isNegotiated = said >> 9 & 1 == 1
                    #expect((recorded >> 5 & 1 == 1) == (isNegotiated && codecs.contains(.mSBC)))
                    #expect((recorded >> 8 & 1 == 1) == (isNegotiated && codecs.contains(.lc3SWB)))
                    #expect(recorded & 0b1111_1110_1100_0000 == 0, "bits that nothing stands behind")
                    // bluetoothd's record always says that calls can be rejected.
                    #expect(said >> 5 & 1 == 1)
                })
        }

        /// The statement (ICS) for the first release: each item that is a bit, whether it is declared, and whether the page
        /// gives a reason where the daemon differs.
        @Test
        func `each bit of the statement of conformance is on the page, as declared or with its reason`()
            throws
        {
            let declared = [
                "2/4a": 3, "2/5": 5, "2/11": 0, "2/14": 1, "2/21a": 6, "2/21b": 7, "2/24": 9, "2/27": 10, "2/29": 9,
            ]
            let undeclared = ["2/15": 2, "2/16": 4]
            let (rows, page) = (try Self.rows(), try Self.page())
            for (item, bit) in declared.sorted(by: { $0.key < $1.key }) {
                let row = rows.first { $0.bits.contains(bit) }
                #expect(row?.items.components(separatedBy: ", ").contains(item) == true, "\(item)")
                guard row?.daemon.hasPrefix("yes") != true else { continue }
                #expect(page.contains("Differs: \(item) "), "\(item) is declared")
            }
            for (item, bit) in undeclared.sorted(by: { $0.key < $1.key }) {
                let row = rows.first { $0.bits.contains(bit) }
                #expect(row?.items == "not \(item)" && row?.daemon.hasPrefix("no") == true, "\(item)")
                #expect(page.contains(item))
            }
        }
    }
}
