import BlueZ
import BluetoothTypes
import HeadsetControl
import TestSupport
import Testing

@Suite struct ProfileRepairTests {
    private static let delays = ProfileRepair.Delays(check: .seconds(6), quiet: .seconds(4), pause: .seconds(10))

    private func at(_ milliseconds: Int) -> Instant { Instant(milliseconds: Int64(milliseconds)) }

    private func facts(
        _ voice: ProfileRepair.Presence, _ music: ProfileRepair.Presence, isDisturbing: Bool = false
    ) -> [ProfileRepair.Fact] {
        [.init(.handsFree, voice), .init(.audioSink, music, isDisturbing: isDisturbing)]
    }

    /// Connected at 0, with the first check done.
    private func makeRepair(_ facts: [ProfileRepair.Fact]) -> ProfileRepair {
        var repair = ProfileRepair(delays: Self.delays)
        #expect(repair.update(facts, at: at(0)) == [.setDeadline(at(6_000))])
        return repair
    }

    @Test func `a headset with all profiles up causes no request`() {
        var repair = makeRepair(facts(.down, .down))
        #expect(repair.update(facts(.comingUp, .down), at: at(500)) == [.setDeadline(at(6_000))])
        #expect(repair.update(facts(.up, .up), at: at(1_000)) == [.setDeadline(at(6_000))])
        #expect(repair.deadlineReached(at: at(6_000)) == [])
        #expect(repair.deadlineReached(at: at(100_000)) == [])
    }

    @Test(arguments: [true, false])
    func `a missing profile is requested after the waiting time, and reported once it is up`(isVoice: Bool) {
        let missing = isVoice ? ServiceUUID.handsFree : .audioSink
        var repair = makeRepair(isVoice ? facts(.down, .up) : facts(.up, .down))
        #expect(repair.deadlineReached(at: at(5_999)) == [.setDeadline(at(6_000))])
        #expect(repair.deadlineReached(at: at(6_000)) == [.ask(missing, number: 1, attempt: 1)])
        #expect(repair.deadlineReached(at: at(7_000)) == [])
        #expect(repair.update(facts(.up, .up), at: at(7_500)) == [.repaired(missing)])
        #expect(repair.answered(1, .done, at: at(7_600)) == [])
        #expect(repair.deadlineReached(at: at(60_000)) == [])
    }

    @Test func `a profile that comes up late delays the request until bluetoothd has made its own attempt`() {
        var repair = makeRepair(facts(.down, .down))
        #expect(repair.update(facts(.down, .up), at: at(5_000)) == [.setDeadline(at(6_000))])
        #expect(repair.deadlineReached(at: at(6_000)) == [.setDeadline(at(9_000))])
        // bluetoothd connects it at 7 s.
        #expect(repair.update(facts(.comingUp, .up), at: at(7_000)) == [])
        #expect(repair.deadlineReached(at: at(9_000)) == [])
        #expect(repair.update(facts(.up, .up), at: at(9_500)) == [])
        #expect(repair.deadlineReached(at: at(60_000)) == [])
    }

    @Test func `a profile that ends before its set-up has finished is missing`() {
        var repair = makeRepair(facts(.comingUp, .up))
        #expect(repair.deadlineReached(at: at(6_000)) == [])
        #expect(
            repair.update(facts(.down, .up), at: at(20_000)) == [.ask(.handsFree, number: 1, attempt: 1)])
    }

    @Test func `a failed profile is requested once more, and then no more`() {
        var repair = makeRepair(facts(.down, .up))
        #expect(repair.deadlineReached(at: at(6_000)) == [.ask(.handsFree, number: 1, attempt: 1)])
        #expect(repair.answered(1, .failed(.refused), at: at(7_000)) == [.setDeadline(at(17_000))])
        #expect(repair.deadlineReached(at: at(16_999)) == [.setDeadline(at(17_000))])
        #expect(repair.deadlineReached(at: at(17_000)) == [.ask(.handsFree, number: 2, attempt: 2)])
        #expect(repair.answered(2, .failed(.unreachable), at: at(18_000)) == [.missing(.handsFree, .unreachable)])
        #expect(repair.deadlineReached(at: at(600_000)) == [])
        #expect(repair.update(facts(.up, .up), at: at(700_000)) == [.over(.handsFree), .repaired(.handsFree)])
    }

    @Test func `a profile that bluetoothd reports as connected but is not up gets time, then counts as missing`() {
        var repair = makeRepair(facts(.up, .down))
        #expect(repair.deadlineReached(at: at(6_000)) == [.ask(.audioSink, number: 1, attempt: 1)])
        #expect(repair.answered(1, .done, at: at(7_000)) == [.setDeadline(at(17_000))])
        #expect(repair.deadlineReached(at: at(17_000)) == [.ask(.audioSink, number: 2, attempt: 2)])
        #expect(repair.answered(2, .done, at: at(18_000)) == [.setDeadline(at(28_000))])
        #expect(repair.deadlineReached(at: at(28_000)) == [.missing(.audioSink, nil)])
    }

    @Test func `an attempt of another program is excused a limited number of times`() {
        var repair = makeRepair(facts(.down, .up))
        var time = 6_000
        var attempts: [Int] = []
        var told: [ProfileRepair.Action] = []
        var actions = repair.deadlineReached(at: at(time))
        while case .ask(.handsFree, let number, let attempt) = actions.first {
            attempts.append(attempt)
            told = repair.answered(number, .inProgress, at: at(time))
            time += 10_000
            actions = repair.deadlineReached(at: at(time))
        }
        #expect(attempts == [1, 1, 1, 1, 2])
        #expect(told == [.setDeadline(at(time))])
        #expect(actions == [.missing(.handsFree, .inProgress)])
    }

    @Test func `two missing profiles are requested one at a time, and neither waits for the other's pause`() {
        var repair = makeRepair(facts(.down, .down))
        #expect(repair.deadlineReached(at: at(6_000)) == [.ask(.handsFree, number: 1, attempt: 1)])
        #expect(
            repair.answered(1, .failed(.refused), at: at(7_000)) == [.ask(.audioSink, number: 2, attempt: 1)])
        #expect(repair.update(facts(.down, .up), at: at(8_000)) == [.repaired(.audioSink)])
        #expect(repair.answered(2, .done, at: at(8_000)) == [.setDeadline(at(17_000))])
        #expect(repair.deadlineReached(at: at(17_000)) == [.ask(.handsFree, number: 3, attempt: 2)])
    }

    @Test func `a request waits while it would disturb a call`() {
        var repair = makeRepair(facts(.up, .down))
        #expect(repair.update(facts(.up, .down, isDisturbing: true), at: at(5_000)) == [.setDeadline(at(6_000))])
        #expect(repair.deadlineReached(at: at(6_000)) == [])
        #expect(
            repair.update(facts(.up, .down), at: at(90_000)) == [.ask(.audioSink, number: 1, attempt: 1)])
    }

    @Test func `a profile that was up and went down is left alone`() {
        var repair = makeRepair(facts(.up, .up))
        #expect(repair.deadlineReached(at: at(6_000)) == [])
        #expect(repair.update(facts(.down, .up), at: at(9_000)) == [])
        #expect(repair.update(facts(.down, .down), at: at(9_500)) == [])
        #expect(repair.deadlineReached(at: at(60_000)) == [])
    }

    @Test func `after a disconnection by a user nothing is requested until the headset connects again`() {
        var repair = makeRepair(facts(.up, .down))
        #expect(repair.dismissed() == [])
        #expect(repair.deadlineReached(at: at(6_000)) == [])
        #expect(repair.update(facts(.down, .down), at: at(8_000)) == [])
        #expect(repair.update(nil, at: at(9_000)) == [])
        #expect(repair.update(facts(.up, .down), at: at(10_000)) == [.setDeadline(at(16_000))])
        #expect(repair.deadlineReached(at: at(16_000)) == [.ask(.audioSink, number: 1, attempt: 1)])
    }

    @Test func `a headset that leaves has no problem, and a late answer does not apply to a new request`() {
        var repair = makeRepair(facts(.up, .down))
        #expect(repair.deadlineReached(at: at(6_000)) == [.ask(.audioSink, number: 1, attempt: 1)])
        #expect(repair.update(nil, at: at(7_000)) == [])
        #expect(repair.answered(1, .failed(.cancelled), at: at(7_001)) == [])
        #expect(repair.update(facts(.up, .down), at: at(8_000)) == [.setDeadline(at(14_000))])
        #expect(repair.deadlineReached(at: at(14_000)) == [.ask(.audioSink, number: 2, attempt: 1)])
        #expect(repair.answered(1, .failed(.timedOut), at: at(14_500)) == [])
        #expect(repair.answered(2, .failed(.refused), at: at(15_000)) == [.setDeadline(at(25_000))])
        #expect(repair.deadlineReached(at: at(25_000)) == [.ask(.audioSink, number: 3, attempt: 2)])
        #expect(repair.answered(3, .failed(.refused), at: at(26_000)) == [.missing(.audioSink, .refused)])
        #expect(repair.update(nil, at: at(27_000)) == [.over(.audioSink)])
    }

    @Test func `a profile that is no longer wanted is not missing, and one wanted later gets its waiting time`() {
        var repair = makeRepair([.init(.handsFree, .up)])
        #expect(repair.deadlineReached(at: at(6_000)) == [])
        #expect(repair.update(facts(.up, .down), at: at(20_000)) == [.setDeadline(at(26_000))])
        #expect(repair.deadlineReached(at: at(26_000)) == [.ask(.audioSink, number: 1, attempt: 1)])
        #expect(repair.answered(1, .failed(.profileUnavailable), at: at(26_000)) == [.setDeadline(at(36_000))])
        #expect(repair.deadlineReached(at: at(36_000)) == [.ask(.audioSink, number: 2, attempt: 2)])
        #expect(
            repair.answered(2, .failed(.profileUnavailable), at: at(36_000))
                == [.missing(.audioSink, .profileUnavailable)])
        #expect(repair.update([.init(.handsFree, .up)], at: at(40_000)) == [.over(.audioSink)])
    }

    @Test(arguments: 1...20)
    func `with random events there is one request at a time, at most two per profile, and none too early`(seed: UInt64)
    {
        var generator = SeededGenerator(seed: seed)
        var repair = ProfileRepair(delays: Self.delays)
        var (voice, music) = (ProfileRepair.Presence.down, ProfileRepair.Presence.down)
        var (isConnected, isDisturbing) = (false, false)
        var connectedAt = 0
        var due: Int?
        var open: Int?
        var asked: [ServiceUUID: Int] = [:]
        var told: Set<ServiceUUID> = []
        for time in stride(from: 0, to: 400_000, by: 250) {
            var actions: [ProfileRepair.Action] = []
            switch generator.next() % 60 {
            case 0:
                isConnected.toggle()
                connectedAt = time
                asked = [:]
                open = nil
                (voice, music) = (.down, .down)
            case 1: voice = [.up, .comingUp, .down][Int(generator.next() % 3)]
            case 2: music = generator.next() % 2 == 0 ? .up : .down
            case 3: isDisturbing.toggle()
            case 4:
                if let number = open {
                    open = nil
                    let outcomes: [ProfileRepair.Outcome] = [.done, .failed(.refused)]
                    actions += repair.answered(number, outcomes[Int(generator.next() % 2)], at: at(time))
                }
            default: break
            }
            actions += repair.update(isConnected ? facts(voice, music, isDisturbing: isDisturbing) : nil, at: at(time))
            if let moment = due, moment <= time {
                due = nil
                actions += repair.deadlineReached(at: at(time))
            }
            for action in actions {
                switch action {
                case .ask(let service, let number, let attempt):
                    #expect(isConnected && open == nil && time - connectedAt >= 6_000)
                    #expect((service == .handsFree ? voice : music) == .down)
                    open = number
                    asked[service, default: 0] += 1
                    #expect(asked[service] == attempt && attempt <= 2)
                case .missing(let service, _): #expect(told.insert(service).inserted)
                case .over(let service): #expect(told.remove(service) != nil)
                case .repaired(let service): #expect(asked[service] != nil)
                case .setDeadline(let moment): due = Int(moment.nanoseconds / 1_000_000)
                }
            }
            #expect(isConnected || told.isEmpty)
        }
    }
}
