import AudioDSP
import AudioPaths
import BTCallAPI
import BluetoothTypes
import CallControl
import ControlLoop
import Routing
import Testing

@Suite struct CallHistoryTests {
    private let headset = CallHistory.Carrier(.headset(BluetoothAddress(value: 1)), codec: .mSBC, handle: 42)
    private let earpiece = CallHistory.Carrier(.local(.earpiece))

    private func time(_ milliseconds: Int64) -> WallClock { WallClock(milliseconds: milliseconds) }

    private func piece(lost: Int = 0) -> LinkQuality {
        var piece = LinkQuality()
        piece.duration = .seconds(1)
        piece.packetsReceived = 100 - lost
        piece.packetsLost = lost
        return piece
    }

    @Test func `each device has its own quality, and the call has the total`() throws {
        var history = CallHistory(window: .seconds(5))
        history.begin(headset, at: time(1))
        history.add(piece(lost: 5), packetBytes: 60)
        history.begin(earpiece, at: time(2))
        history.add(piece(), packetBytes: 0)
        history.end(at: time(3))
        #expect(history.stretches.map(\.quality.packetsLost) == [5, 0])
        #expect(history.stretches.map(\.quality.score) == [63, 100])
        #expect(history.stretches.map(\.began) == [time(1), time(2)])
        #expect(history.stretches.map(\.ended) == [time(2), time(3)])
        #expect(history.stretches.first?.carrier.packetBytes == 60)
        #expect(history.meter.total.packetsLost == 5 && history.meter.total.duration == .seconds(2))
        #expect(history.carrier == nil)
        // While no device carries the call, nothing is counted.
        history.add(piece(lost: 50), packetBytes: 60)
        history.end(at: time(9))
        #expect(history.meter.total.packetsLost == 5)
        #expect(history.stretches.last?.ended == time(3))
    }

    @Test func `a retry counts at once for the call and for its device`() {
        var history = CallHistory(window: .seconds(5))
        history.begin(earpiece, at: time(1))
        history.add(piece(), packetBytes: 0)
        history.retry(headset.endpoint)
        history.retry(headset.endpoint)
        #expect(history.meter.recent.score == 90)
        history.begin(headset, at: time(2))
        history.retry(headset.endpoint)
        history.begin(earpiece, at: time(3))
        #expect(history.stretches.map(\.quality.retries) == [0, 3, 0])
        #expect(history.meter.total.retries == 3)
    }

    @Test func `the latest stretches of an often moved call are kept`() {
        var history = CallHistory(window: .seconds(5))
        for number in 0..<(CallHistory.maximumStretches + 7) {
            history.begin(number % 2 == 0 ? headset : earpiece, at: time(Int64(number)))
        }
        #expect(history.stretches.count == CallHistory.maximumStretches)
        #expect(history.omittedStretches == 7)
        #expect(history.stretches.first?.began == time(7))
        #expect(history.stretches.dropLast().allSatisfy { $0.ended != nil })
    }

    @Test func `times on the bus are whole milliseconds, and a drift that is not finite is 0`() {
        var quality = piece(lost: 1)
        quality.duration = .microseconds(1_500_700)
        quality.concealed = .microseconds(7_500)
        quality.deviation = .microseconds(1_000)
        quality.intervals = 3
        quality.driftPPM = .nan
        let description = QualityDescription(quality)
        #expect(description.durationMs == 1_500 && description.concealedMs == 7)
        #expect(description.jitterMs == 0.333 && description.driftPPM == 0)
        #expect(QualityDescription(LinkQuality()).score == nil)
    }
}
