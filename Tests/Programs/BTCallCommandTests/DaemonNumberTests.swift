import BTCallAPI
import BTCallJSON
import CommandKit
import ControlLoop
import DBus
import JSONText
import Testing

@testable import BTCall
@testable import BTCallCommand

/// Numbers that our daemon never sends, but any program at `--bus ADDRESS` may: btcall prints something and continues.
struct DaemonNumberTests {
    private static let numbers: [Double] = [
        .nan, .signalingNaN, .infinity, -.infinity, .greatestFiniteMagnitude, -.greatestFiniteMagnitude, 1e19, -1e19,
        .leastNonzeroMagnitude, -0.0,
    ]

    private static func quality(_ number: Double) throws -> CallQuality {
        var fields: [String: Value] = ["score": .int32(.min), "jitterMs": .double(number), "driftPPM": .double(number)]
        for name in ["durationMs", "packets", "lost", "concealedMs", "droppedMs", "gaps", "retries", "xruns"] {
            fields[name] = .uint64(.max)
        }
        return CallQuality(try QualityDescription(Fields(fields, of: "quality")))
    }

    @Test(arguments: numbers) func `the quality of a call is printed for any number`(number: Double) throws {
        let quality = try Self.quality(number)
        let rows = Dictionary(uniqueKeysWithValues: quality.rows.map { ($0.name, $0.value) })
        #expect(rows["lost"] == "9007199254740992 of 18014398509481984 packets")
        #expect(rows["drift"] == (number.magnitude < 1 ? "0 ppm" : "- ppm"))
        #expect(!quality.json.text().isEmpty)
        var measurement = CallMeasurement()
        (measurement.packets, measurement.lost) = (quality.packets, quality.lost)
        #expect(measurement.lossPercent == 50)
    }

    @Test(arguments: numbers) func `levels are drawn for any number`(number: Double) {
        var view = LiveViewTests.inCall()
        let level = LevelsDescription.Level(peak: number, rms: number)
        view.levels = AudioLevels(LevelsDescription(heard: level, said: level))
        for columns in [1, 40, 80, 500] {
            let lines = view.lines(.init(columns: columns, rows: 24)).map { $0.text(width: columns) }
            #expect(lines.count <= 24)
        }
    }

    @Test func `the next step is shown, however far in the future`() {
        for remaining in [Int64.min, -1, 0, 1234, .max] {
            let next = RouteExplanation.Next(.init(action: "attempt", device: "", remaining: remaining))
            let saturated = max(min(remaining, Int64.max / 1_000_000), Int64.min / 1_000_000)
            #expect(next.json.text() == #"{"action":"attempt","device":null,"remainingMilliseconds":\#(saturated)}"#)
        }
    }

    @Test func `a logged call has a duration for any begin and end`() throws {
        let times: [(answered: Int64, ended: Int64, duration: Int64)] = [
            (.min, .max, .max), (.max, .min, 0), (1, .max, .max - 1), (.min, -1, .max), (5, 5, 0), (5, 9, 4),
        ]
        for (answered, ended, duration) in times {
            let fields = Fields(
                [
                    "direction": .string("incoming"), "began": .int64(.min), "answered": .int64(answered),
                    "ended": .int64(ended), "reason": .string("x"),
                ], of: "Log")
            let call = LoggedCall(try CallLogDescription(fields))
            #expect(call.durationMs == duration)
            #expect(!call.json.text().isEmpty && !HistoryCommand.table([call]).lines.isEmpty)
        }
    }

    @Test func `numbers are rounded as people expect`() {
        #expect([1.25, -0.04, 12.0, -7.96].map(\.tenths) == ["1.3", "0.0", "12.0", "-8.0"])
        #expect([1.5, -0.4, 12, -7.6].map(\.whole) == ["2", "0", "12", "-8"])
        #expect(Self.numbers.prefix(8).allSatisfy { $0.tenths == "-" && $0.whole == "-" })
    }
}
