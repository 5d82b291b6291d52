import AudioPaths
import BluetoothTypes
import TestSupport
import Testing

@Suite struct ImpliedCallTests {
    private func at(_ milliseconds: Int) -> Instant { Instant(milliseconds: Int64(milliseconds)) }

    /// Both directions run from 0 on, which is a call since 200.
    private func makeCall() -> ImpliedCall {
        var call = ImpliedCall()
        #expect(call.streams(isPlaying: true, isCapturing: true, at: at(0)) == [.setDeadline(at(200))])
        #expect(call.deadlineReached(at: at(200)) == [.begin])
        return call
    }

    @Test func `both directions make a call after running for 200 ms`() {
        var call = ImpliedCall()
        #expect(call.streams(isPlaying: true, isCapturing: false, at: at(0)) == [])
        #expect(call.streams(isPlaying: true, isCapturing: true, at: at(500)) == [.setDeadline(at(700))])
        #expect(call.deadlineReached(at: at(699)) == [])
        #expect(call.deadlineReached(at: at(700)) == [.begin])
        #expect(call.deadlineReached(at: at(900)) == [])
    }

    @Test(arguments: [(true, false), (false, true), (false, false)])
    func `streams that stop before 200 ms make no call, and the time starts over`(isPlaying: Bool, isCapturing: Bool) {
        var call = ImpliedCall()
        #expect(call.streams(isPlaying: true, isCapturing: true, at: at(0)) == [.setDeadline(at(200))])
        #expect(call.streams(isPlaying: isPlaying, isCapturing: isCapturing, at: at(199)) == [])
        #expect(call.deadlineReached(at: at(200)) == [])
        #expect(call.streams(isPlaying: true, isCapturing: true, at: at(250)) == [.setDeadline(at(450))])
        #expect(call.deadlineReached(at: at(200)) == [])
        #expect(call.deadlineReached(at: at(450)) == [.begin])
    }

    @Test func `the call ends once neither direction has run for a second`() {
        var call = makeCall()
        #expect(call.streams(isPlaying: false, isCapturing: true, at: at(1_000)) == [])
        #expect(call.deadlineReached(at: at(5_000)) == [])
        #expect(call.streams(isPlaying: false, isCapturing: false, at: at(6_000)) == [.setDeadline(at(7_000))])
        #expect(call.streams(isPlaying: true, isCapturing: false, at: at(6_999)) == [])
        #expect(call.deadlineReached(at: at(7_000)) == [])
        #expect(call.streams(isPlaying: false, isCapturing: false, at: at(8_000)) == [.setDeadline(at(9_000))])
        #expect(call.deadlineReached(at: at(8_999)) == [])
        #expect(call.deadlineReached(at: at(9_000)) == [.end])
        #expect(call.streams(isPlaying: true, isCapturing: true, at: at(9_500)) == [.setDeadline(at(9_700))])
    }

    @Test func `a call hung up here does not come back until both directions have stopped`() {
        var call = makeCall()
        #expect(call.ended(at: at(1_000)) == [])
        #expect(call.deadlineReached(at: at(3_000)) == [])
        #expect(call.streams(isPlaying: false, isCapturing: true, at: at(3_000)) == [])
        #expect(call.streams(isPlaying: true, isCapturing: true, at: at(3_100)) == [])
        #expect(call.deadlineReached(at: at(4_000)) == [])
        #expect(call.streams(isPlaying: false, isCapturing: false, at: at(4_000)) == [])
        #expect(call.streams(isPlaying: true, isCapturing: true, at: at(4_001)) == [.setDeadline(at(4_201))])
    }

    @Test func `a call hung up after both directions have stopped may come again`() {
        var call = makeCall()
        #expect(call.streams(isPlaying: false, isCapturing: false, at: at(300)) == [.setDeadline(at(1_300))])
        #expect(call.ended(at: at(400)) == [])
        #expect(call.deadlineReached(at: at(1_300)) == [])
        #expect(call.streams(isPlaying: true, isCapturing: true, at: at(1_400)) == [.setDeadline(at(1_600))])
    }

    @Test func `no call begins while another call has the audio, and a present call continues`() {
        var call = ImpliedCall()
        #expect(call.circumstances(mayBegin: false, mayLast: true, at: at(0)) == [])
        #expect(call.streams(isPlaying: true, isCapturing: true, at: at(0)) == [])
        #expect(call.deadlineReached(at: at(300)) == [])
        #expect(call.circumstances(mayBegin: true, mayLast: true, at: at(400)) == [.setDeadline(at(600))])
        #expect(call.deadlineReached(at: at(600)) == [.begin])
        #expect(call.circumstances(mayBegin: false, mayLast: true, at: at(700)) == [])
    }

    @Test func `an application that uses the PCM for its calls ends the implied call`() {
        var call = makeCall()
        #expect(call.circumstances(mayBegin: true, mayLast: false, at: at(300)) == [.end])
        #expect(call.deadlineReached(at: at(900)) == [])
        #expect(call.circumstances(mayBegin: true, mayLast: true, at: at(1_000)) == [.setDeadline(at(1_200))])
    }

    @Test(arguments: 1...20)
    func `with random events calls alternate, and none outlasts its streams by more than a second`(seed: UInt64) {
        var generator = SeededGenerator(seed: seed)
        var call = ImpliedCall()
        var (isUp, isPlaying, isCapturing, mayLast) = (false, false, false, true)
        var quietSince: Int?
        var due: Int?
        for time in 0..<3_000 {
            var actions: [ImpliedCall.Action] = []
            if let moment = due, moment <= time {
                due = nil
                actions += call.deadlineReached(at: at(time))
            }
            switch generator.next() % 400 {
            case 0: isPlaying.toggle()
            case 1: isCapturing.toggle()
            case 2: mayLast.toggle()
            case 3:
                if isUp {
                    isUp = false
                    actions += call.ended(at: at(time))
                }
            default: break
            }
            actions += call.streams(isPlaying: isPlaying, isCapturing: isCapturing, at: at(time))
            actions += call.circumstances(mayBegin: true, mayLast: mayLast, at: at(time))
            for action in actions {
                switch action {
                case .begin:
                    #expect(!isUp && isPlaying && isCapturing && mayLast)
                    isUp = true
                case .end:
                    #expect(isUp)
                    isUp = false
                case .setDeadline(let moment): due = Int(moment.nanoseconds / 1_000_000)
                }
            }
            quietSince = isPlaying || isCapturing ? nil : quietSince ?? time
            if isUp, let quietSince { #expect(time - quietSince <= 1_001) }
            #expect(!isUp || mayLast)
        }
    }
}
