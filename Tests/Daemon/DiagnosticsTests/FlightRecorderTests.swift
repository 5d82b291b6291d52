import BluetoothTypes
import ControlLoop
import Diagnostics
import Routing
import Testing

/// The recorder without a daemon, with a clock that a test sets.
@Suite @ControlPlane struct FlightRecorderTests {
    private final class Clock {
        var milliseconds: Int64 = 1_740_848_645_678
    }

    private let clock = Clock()

    /// Records a policy with one event every second, from second `start` on.
    private func record(
        _ events: [RoutingEvent], from start: Int64, _ policy: inout RoutingPolicy, _ recorder: FlightRecorder
    ) {
        for (index, event) in events.enumerated() {
            let now = Instant(milliseconds: (start + Int64(index)) * 1000)
            recorder.willHandle(at: now, policy)
            _ = policy.handle(event, at: now)
            recorder.didHandle(event, at: now, policy)
            clock.milliseconds += 1000
        }
    }

    private func preferred(_ recorder: FlightRecorder, at milliseconds: Int64) -> String {
        do throws(FlightRecorder.RangeError) {
            let (policy, _) = try recorder.policy(atUnixMilliseconds: milliseconds)
            return policy.preferred.description
        } catch {
            return error.description
        }
    }

    @Test func `Setting the clock and sleep of the machine do not confuse times of day`() {
        let recorder = FlightRecorder(version: "1") { [clock] in WallClock(milliseconds: clock.milliseconds) }
        var policy = RoutingPolicy()
        let start = clock.milliseconds
        record([.setPreferred(.earpiece), .setPreferred(.bluetooth)], from: 100, &policy, recorder)
        // Asleep for an hour: the monotonic clock stood still.
        clock.milliseconds += 3_600_000
        record([.setPreferred(.speakerphone), .setPreferred(.wiredHeadset)], from: 102, &policy, recorder)
        #expect(preferred(recorder, at: start) == "earpiece")
        #expect(preferred(recorder, at: start + 999) == "earpiece")
        #expect(preferred(recorder, at: start + 1000) == "bluetooth")
        #expect(preferred(recorder, at: start + 1_800_000) == "bluetooth")
        #expect(preferred(recorder, at: start + 3_602_000) == "speakerphone")
        #expect(preferred(recorder, at: start + 3_603_500) == "wiredHeadset")
        // Set back by a day: a time that occurs twice means the later one.
        clock.milliseconds -= 86_400_000
        record([.setPreferred(.none), .setPreferred(.earpiece)], from: 104, &policy, recorder)
        #expect(preferred(recorder, at: start + 3_604_000 - 86_400_000) == "none")
        #expect(
            preferred(recorder, at: start - 86_400_000).hasPrefix(
                "nothing is recorded for 2025-02-28T17:04:05.678Z: the recording covers"))
    }

    @Test func `A time that differs from the clock by the smallest number is refused`() {
        let recorder = FlightRecorder(version: "1") { [clock] in WallClock(milliseconds: clock.milliseconds) }
        var policy = RoutingPolicy()
        let ahead = clock.milliseconds - 100_000
        record([.refresh], from: 100, &policy, recorder)
        for edge in [Int64.min, .min + ahead, .max, .max - ahead] {
            for time in [edge == .min ? edge : edge - 1, edge, edge == .max ? edge : edge + 1] {
                #expect(preferred(recorder, at: time).hasPrefix("nothing is recorded for"), "\(time)")
            }
        }
    }

    @Test func `A time before any event or outside the recording is refused with the reason`() {
        let recorder = FlightRecorder(version: "1", recording: RoutingRecording(segmentLimit: 2, eventLimit: 2)) {
            [clock] in WallClock(milliseconds: clock.milliseconds)
        }
        #expect(preferred(recorder, at: 0) == "nothing has been recorded yet: there was no routing event")
        #expect(recorder.incident(title: "") == nil)
        var policy = RoutingPolicy()
        record(Array(repeating: .refresh, count: 5), from: 100, &policy, recorder)
        // The first two of five are dropped.
        #expect(
            preferred(recorder, at: 1_740_848_645_678)
                == "nothing is recorded for 2025-03-01T17:04:05.678Z: the recording covers 2025-03-01T17:04:07.678Z to "
                + "2025-03-01T17:04:10.678Z")
        #expect(preferred(recorder, at: 1_740_848_650_679).hasPrefix("nothing is recorded for"))
        #expect(preferred(recorder, at: 1_740_848_650_678) == "none")
    }

    @Test func `Pseudonyms sort like the addresses, and replace every one`() throws {
        let pseudonyms = AddressPseudonyms()
        let text = """
            {"a": "bluetooth:F0:00:00:00:00:01", "b": ["00:1b:dc:08:00:11", "hfp:00:1B:DC:08:00:12"],
             "c": "/org/bluez/hci0/dev_00_1B_DC_08_00_11/x", "d": "17:04:05.678", "e": "F0:00:00:00:00", "f": "é00:1B:DC:08:00:12"}
            """
        let result = pseudonyms.replacingAddresses(in: text)
        let found = result.matches(of: /[0-9A-F]{2}(?:[:_][0-9A-F]{2}){5}/).map { String($0.output) }
        let addresses = found.compactMap { BluetoothAddress($0) }
        #expect(addresses.count == 5)
        #expect(addresses[1] == addresses[3] && found[3].contains("_"))
        #expect(addresses[2] == addresses[4])
        #expect(addresses[1] < addresses[2] && addresses[2] < addresses[0])
        #expect(addresses.allSatisfy { $0.octets[0] == 2 })
        for real in ["F0:00:00:00:00:01", "1b:dc", "1B:DC", "1B_DC"] { #expect(!result.contains(real)) }
        #expect(result.contains("\"17:04:05.678\", \"e\": \"F0:00:00:00:00\", \"f\": \"é02:"))
        // Another run of the daemon gives other pseudonyms.
        let other = AddressPseudonyms().replacingAddresses(in: text)
        #expect(other != result)
        #expect(pseudonyms.replacingAddresses(in: text) == result)
    }
}
