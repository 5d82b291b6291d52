import BluetoothTypes
import HeadsetPolicy
import TestSupport
import Testing

@Suite struct MusicSuspensionTests {
    private let first = BluetoothAddress(value: 1)
    private let second = BluetoothAddress(value: 2)

    private func at(_ milliseconds: Int) -> Instant { Instant(milliseconds: Int64(milliseconds)) }

    /// The link of `first` opens at 0.
    private func makeSuspension() -> MusicSuspension {
        var machine = MusicSuspension(delay: .seconds(2))
        #expect(machine.callsChanged(true, at: at(0)) == [])
        #expect(machine.linkOpening(first, hasCalls: true, at: at(0)) == [.pausePlayers, .suspend(first)])
        return machine
    }

    @Test func `music stops before the link opens and resumes two seconds after the last call`() {
        var machine = makeSuspension()
        #expect(machine.callsChanged(true, at: at(500)) == [])
        #expect(machine.callsChanged(false, at: at(1_000)) == [.setDeadline(at(3_000))])
        #expect(machine.callsChanged(false, at: at(1_500)) == [])
        #expect(machine.deadlineReached(at: at(2_999)) == [])
        #expect(machine.deadlineReached(at: at(3_000)) == [.setDeadline(nil), .restore(first), .resumePlayers])
        #expect(machine.deadlineReached(at: at(4_000)) == [])
    }

    @Test func `a call that follows soon does not resume and stop it again`() {
        var machine = makeSuspension()
        #expect(machine.callsChanged(false, at: at(1_000)) == [.setDeadline(at(3_000))])
        #expect(machine.callsChanged(true, at: at(2_999)) == [.setDeadline(nil)])
        #expect(machine.linkOpening(first, hasCalls: true, at: at(3_100)) == [])
        #expect(machine.deadlineReached(at: at(9_000)) == [])
        #expect(machine.callsChanged(false, at: at(10_000)) == [.setDeadline(at(12_000))])
        // The link is requested before the call is reported.
        #expect(machine.linkOpening(first, hasCalls: true, at: at(11_000)) == [.setDeadline(nil)])
        #expect(machine.callsChanged(true, at: at(11_000)) == [])
    }

    @Test func `a second headset is suspended as well, and players started since then are left alone`() {
        var machine = makeSuspension()
        #expect(machine.linkOpening(first, hasCalls: true, at: at(10)) == [])
        #expect(machine.linkOpening(second, hasCalls: true, at: at(20)) == [.suspend(second)])
        #expect(machine.callsChanged(false, at: at(1_000)) == [.setDeadline(at(3_000))])
        #expect(
            machine.deadlineReached(at: at(3_000)) == [
                .setDeadline(nil), .restore(first), .restore(second), .resumePlayers,
            ])
    }

    @Test func `the policy may return headsets to their music one by one`() {
        var machine = makeSuspension()
        #expect(machine.restoreDue(first) == [])
        #expect(machine.linkOpening(second, hasCalls: true, at: at(20)) == [.suspend(second)])
        #expect(machine.callsChanged(false, at: at(1_000)) == [.setDeadline(at(3_000))])
        #expect(machine.restoreDue(second) == [.restore(second)])
        #expect(machine.restoreDue(second) == [])
        #expect(machine.restoreDue(first) == [.setDeadline(nil), .restore(first), .resumePlayers])
        #expect(machine.restoreDue(first) == [])
    }

    @Test func `a link whose call has already ended is suspended for the delay only`() {
        var machine = MusicSuspension(delay: .seconds(2))
        #expect(
            machine.linkOpening(first, hasCalls: false, at: at(100)) == [
                .pausePlayers, .suspend(first), .setDeadline(at(2_100)),
            ])
    }

    @Test func `at the end all music resumes at once`() {
        var machine = makeSuspension()
        #expect(machine.end() == [.setDeadline(nil), .restore(first), .resumePlayers])
        #expect(machine.end() == [])
    }

    @Test(arguments: 1...20)
    func `in any course all music is suspended once and resumed once, and never during a call`(seed: UInt64) {
        var generator = SeededGenerator(seed: seed)
        var machine = MusicSuspension(delay: .milliseconds(200))
        var (hasCalls, isPaused) = (false, false)
        var suspended: Set<BluetoothAddress> = []
        var due: Int?
        for time in 0..<4_000 {
            var actions: [MusicSuspension.Action] = []
            let address = generator.next() % 2 == 0 ? first : second
            switch generator.next() % 150 {
            case 0:
                hasCalls.toggle()
                actions += machine.callsChanged(hasCalls, at: at(time))
            case 1, 2: actions += machine.linkOpening(address, hasCalls: hasCalls, at: at(time))
            case 3: actions += machine.restoreDue(address)
            default: break
            }
            for action in actions {
                if case .setDeadline(let moment) = action { due = moment.map { Int($0.nanoseconds / 1_000_000) } }
            }
            if let moment = due, moment <= time {
                due = nil
                actions += machine.deadlineReached(at: at(time))
            }
            for action in actions {
                switch action {
                case .pausePlayers:
                    #expect(!isPaused)
                    isPaused = true
                case .resumePlayers:
                    #expect(isPaused && !hasCalls && suspended.isEmpty)
                    isPaused = false
                case .suspend(let address): #expect(suspended.insert(address).inserted)
                case .restore(let address): #expect(suspended.remove(address) != nil && !hasCalls)
                case .setDeadline: break
                }
            }
            // It ends without calls.
            #expect(hasCalls || !isPaused || due != nil)
        }
    }
}
