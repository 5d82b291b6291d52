import BluetoothTypes
import HeadsetPolicy
import TestSupport
import Testing

@Suite struct PairingWindowTests {
    private static let first = BluetoothAddress(value: 0x0000_5E00_5301)
    private static let second = BluetoothAddress(value: 0x0000_5E00_5302)
    private typealias Device = PairingWindow.Device

    private func at(_ milliseconds: Int) -> Instant { Instant(milliseconds: Int64(milliseconds)) }

    private func device(
        _ address: BluetoothAddress = first, name: String? = "Jabra 45", rssi: Int? = -50, isAudio: Bool? = true,
        isPaired: Bool = false
    ) -> Device {
        Device(address, name: name, rssi: rssi, isAudio: isAudio, isPaired: isPaired)
    }

    /// Open at 0 for 60 s.
    private func makeWindow(_ allow: [String] = ["\(first)"], pin: String? = nil) throws -> PairingWindow {
        var window = PairingWindow()
        let rules = try PairingRules(allow: allow, pin: pin)
        let actions = window.open(for: .seconds(60), rules, by: "a test", at: at(0))
        #expect(actions.contains(.startDiscovery))
        #expect(window.state == .open)
        return window
    }

    /// Actions except log lines.
    private func acts(_ actions: [PairingWindow.Action]) -> [PairingWindow.Action] {
        actions.filter { if case .audit = $0 { false } else { true } }
    }

    private func finished(_ actions: [PairingWindow.Action]) -> PairingWindow.Result? {
        for case .finished(let result) in actions { return result }
        return nil
    }

    @Test func `an allowed headset in range is paired, trusted and connected, which ends the window`() throws {
        var window = try makeWindow()
        #expect(acts(window.update([], hasCall: false, at: at(100))) == [.setDeadline(at(60_000))])
        #expect(
            acts(window.update([device()], hasCall: false, at: at(1_000)))
                == [.stopDiscovery, .pair(Self.first, number: 1)])
        #expect(window.state == .pairing)
        #expect(acts(window.answered(1, .done, at: at(2_000))) == [.trust(Self.first, number: 2)])
        #expect(acts(window.answered(2, .done, at: at(2_100))) == [.connect(Self.first, number: 3)])
        let end = window.answered(3, .done, at: at(3_000))
        #expect(
            acts(end) == [.close, .finished(.init(address: Self.first, outcome: .paired, reason: ""))])
        #expect(window.state == .closed)
    }

    @Test func `a device that is not listed, not an audio device or already paired is not paired`() throws {
        var window = try makeWindow(["Jabra*"])
        let others = [
            device(name: "Plantronics"), device(Self.second, name: nil), device(isAudio: false), device(isAudio: nil),
            device(isPaired: true), device(rssi: nil),
        ]
        for (index, other) in others.enumerated() {
            window = try makeWindow(["Jabra*"])
            let actions = window.update([other], hasCall: false, at: at(1_000 + index))
            #expect(!actions.contains { if case .pair = $0 { true } else { false } }, "\(other)")
        }
        #expect(
            acts(window.update([device(name: "jabra 45")], hasCall: false, at: at(2_000))).last
                == .pair(Self.first, number: 1))
    }

    @Test func `without a list the strongest of those found in the first seconds is paired`() throws {
        var window = try makeWindow([])
        let both = [device(rssi: -70), device(Self.second, name: nil, rssi: -40)]
        #expect(acts(window.update(both, hasCall: false, at: at(1_000))) == [.setDeadline(at(5_000))])
        #expect(acts(window.deadlineReached(at: at(5_000))) == [.stopDiscovery, .pair(Self.second, number: 1)])
    }

    @Test func `a failing device is tried three times, with pauses; then a window for it alone has failed`() throws {
        var window = try makeWindow()
        _ = window.update([device()], hasCall: false, at: at(1_000))
        var now = 1_000
        for attempt in 1...2 {
            let actions = acts(window.answered(attempt, .failed("no answer"), at: at(now)))
            #expect(actions == [.startDiscovery, .setDeadline(at(now + 5_000))])
            now += 5_000
            #expect(
                acts(window.deadlineReached(at: at(now))) == [.stopDiscovery, .pair(Self.first, number: attempt + 1)])
        }
        let end = window.answered(3, .failed("no answer"), at: at(now))
        #expect(finished(end) == .init(address: Self.first, outcome: .failed, reason: "no answer"))
        #expect(window.state == .closed)
    }

    @Test func `at its deadline the window ends with the last failure as the reason`() throws {
        var window = try makeWindow(["Jabra*"])
        #expect(
            finished(window.deadlineReached(at: at(60_000)))
                == .init(address: nil, outcome: .timedOut, reason: "no allowed device came"))
        window = try makeWindow(["Jabra*"])
        _ = window.update([device()], hasCall: false, at: at(1_000))
        _ = window.answered(1, .failed("no answer"), at: at(2_000))
        #expect(acts(window.update([], hasCall: false, at: at(3_000))) == [.setDeadline(at(7_000))])
        let end = window.deadlineReached(at: at(60_000))
        #expect(acts(end).prefix(2) == [.stopDiscovery, .close])
        #expect(finished(end) == .init(address: Self.first, outcome: .timedOut, reason: "no answer"))
    }

    @Test func `a pairing in progress at the deadline is completed`() throws {
        var window = try makeWindow()
        _ = window.update([device()], hasCall: false, at: at(59_000))
        #expect(window.deadlineReached(at: at(60_000)) == [])
        #expect(acts(window.answered(1, .done, at: at(61_000))) == [.trust(Self.first, number: 2)])
    }

    @Test func `a call ends the search but not the window, and no device is paged during it`() throws {
        var window = try makeWindow()
        #expect(acts(window.update([], hasCall: true, at: at(1_000))) == [.stopDiscovery, .setDeadline(at(60_000))])
        #expect(acts(window.update([device()], hasCall: true, at: at(2_000))) == [.setDeadline(at(60_000))])
        #expect(window.state == .open)
        #expect(acts(window.update([], hasCall: false, at: at(3_000))) == [.startDiscovery, .setDeadline(at(60_000))])
    }

    @Test func `a listed headset may begin the pairing, during a call as well`() throws {
        var window = try makeWindow()
        let seen = device(rssi: nil, isAudio: nil)
        _ = window.update([seen], hasCall: true, at: at(1_000))
        #expect(window.asked(Self.first, .authorization, at: at(1_100)).answer == .accept)
        let paired = device(rssi: nil, isPaired: true)
        #expect(
            acts(window.update([paired], hasCall: true, at: at(2_000))) == [.trust(Self.first, number: 1)])
        _ = window.answered(1, .done, at: at(2_100))
        #expect(finished(window.answered(2, .failed("busy"), at: at(2_200)))?.reason == "not connected: busy")
    }

    @Test func `a window that searches in calls searches and pages during one, but not while a voice link is set up`()
        throws
    {
        var window = PairingWindow()
        _ = window.update([], hasCall: true, at: at(0))
        let rules = try PairingRules(allow: ["\(Self.first)"], pin: nil)
        let opened = window.open(for: .seconds(60), rules, searchesInCall: true, by: "a test", at: at(0))
        #expect(acts(opened) == [.startDiscovery, .setDeadline(at(60_000))])
        #expect(window.isDiscovering)
        #expect(
            acts(window.update([device()], hasCall: true, isSettingUp: true, at: at(100)))
                == [.stopDiscovery, .setDeadline(at(60_000))])
        #expect(acts(window.update([device()], hasCall: true, at: at(200))) == [.pair(Self.first, number: 1)])
        #expect(acts(window.answered(1, .done, at: at(300))) == [.trust(Self.first, number: 2)])
        _ = window.update([device(isPaired: true)], hasCall: true, isSettingUp: true, at: at(400))
        #expect(acts(window.answered(2, .done, at: at(500))) == [])
        #expect(
            acts(window.update([device(isPaired: true)], hasCall: true, at: at(600)))
                == [.connect(Self.first, number: 3)])
        #expect(finished(window.answered(3, .done, at: at(700)))?.outcome == .paired)
    }

    @Test func `a window opened during a call does not search until the call has ended`() throws {
        var window = PairingWindow()
        _ = window.update([], hasCall: true, at: at(0))
        let opened = window.open(
            for: .seconds(60), try PairingRules(allow: ["\(Self.first)"], pin: nil), by: "a test", at: at(0))
        #expect(acts(opened) == [.setDeadline(at(60_000))])
        #expect(acts(window.update([], hasCall: false, at: at(100))) == [.startDiscovery, .setDeadline(at(60_000))])
    }

    @Test func `a headset paired during a call is not paged when it has gone again`() throws {
        var window = try makeWindow()
        let gone = Device(Self.first, name: "Jabra 45", rssi: nil, isAudio: true, isPaired: true, isConnected: false)
        #expect(acts(window.update([gone], hasCall: true, at: at(1_000))).last == .trust(Self.first, number: 1))
        let result = finished(window.answered(1, .done, at: at(1_100)))
        #expect(result?.outcome == .paired)
        #expect(result?.reason == "not connected: btcalld pages nobody during a call: switch the headset off and on")
    }

    @Test func `a device that has begun the pairing is not paired from this side at the same time`() throws {
        var window = try makeWindow()
        #expect(window.asked(Self.first, .authorization, at: at(1_000)).answer == .accept)
        #expect(acts(window.update([device()], hasCall: false, at: at(1_100))) == [.setDeadline(at(6_000))])
        #expect(acts(window.deadlineReached(at: at(6_000))).last == .pair(Self.first, number: 1))
    }

    /// The kernel pairs two sides without a display, and asks nobody.
    @Test func `the bond of a device that is paired but not listed is removed, once`() throws {
        var window = try makeWindow(["\(Self.second)"])
        let stranger = device(isPaired: true)
        let actions = window.update([stranger], hasCall: false, at: at(1_000))
        #expect(acts(actions) == [.dropBond(Self.first), .setDeadline(at(60_000))])
        #expect(window.state == .open)
        #expect(acts(window.update([stranger], hasCall: false, at: at(1_100))) == [.setDeadline(at(60_000))])
    }

    @Test func `so is that of a device paired while another is being paired`() throws {
        var window = try makeWindow()
        _ = window.update([device()], hasCall: false, at: at(1_000))
        #expect(window.state == .pairing)
        let stranger = PairingWindow.Device(Self.second, name: "Other", rssi: nil, isAudio: true, isPaired: true)
        #expect(
            acts(window.update([device(), stranger], hasCall: false, at: at(1_100))).contains(.dropBond(Self.second)))
        #expect(window.state == .pairing)
    }

    @Test func `bonds from before the window stay`() throws {
        var window = PairingWindow()
        _ = window.update([device(isPaired: true)], hasCall: false, at: at(0))
        let rules = try PairingRules(allow: ["\(Self.second)"], pin: nil)
        _ = window.open(for: .seconds(60), rules, by: "somebody", at: at(0))
        #expect(
            !acts(window.update([device(isPaired: true)], hasCall: false, at: at(1_000))).contains(
                .dropBond(Self.first)))
    }

    @Test func `questions are answered by the window, the list, the kind of device and the PIN`() throws {
        var closed = PairingWindow()
        #expect(
            closed.asked(Self.first, .authorization, at: at(0)).answer == .reject(reason: "no pairing window is open"))
        var window = try makeWindow()
        _ = window.update([device(rssi: nil)], hasCall: false, at: at(0))
        #expect(window.asked(Self.first, .confirmation(123_456), at: at(0)).answer == .accept)
        #expect(window.asked(Self.first, .service(.handsFree), at: at(0)).answer == .accept)
        #expect(
            window.asked(Self.second, .authorization, at: at(0)).answer == .reject(reason: "it is not on the list"))
        for request: PairingRequest in [.pin, .passkey, .display("123456")] {
            guard case .reject = window.asked(Self.first, request, at: at(0)).answer else {
                Issue.record("\(request) is accepted")
                continue
            }
        }
        _ = window.update([device(rssi: nil, isAudio: false)], hasCall: false, at: at(0))
        #expect(
            window.asked(Self.first, .authorization, at: at(0)).answer == .reject(reason: "it is no audio device"))
        window = try makeWindow(pin: "0000")
        #expect(window.asked(Self.first, .pin, at: at(0)).answer == .pin("0000"))
    }

    @Test func `while a device is being paired no other may`() throws {
        var window = try makeWindow(["*"])
        _ = window.update([device()], hasCall: false, at: at(1_000))
        #expect(window.state == .pairing)
        guard case .reject(let reason) = window.asked(Self.second, .authorization, at: at(1_100)).answer else {
            Issue.record("it is accepted")
            return
        }
        #expect(reason == "Jabra 45 (\(Self.first)) is being paired")
    }

    @Test func `a device that keeps asking fills the log only up to a limit`() throws {
        var window = try makeWindow()
        let lines = (0..<200).reduce(0) { count, _ in
            count + window.asked(Self.second, .authorization, at: at(0)).actions.count
        }
        #expect(lines == PairingWindow.mostRefusals)
    }

    @Test func `closing cancels the pairing, and its later outcome is ignored`() throws {
        var window = try makeWindow()
        _ = window.update([device()], hasCall: false, at: at(1_000))
        let actions = window.close(by: "somebody", at: at(1_500))
        #expect(
            acts(actions) == [
                .cancelPairing(Self.first), .close,
                .finished(.init(address: Self.first, outcome: .cancelled, reason: "closed by somebody")),
            ])
        #expect(window.answered(1, .done, at: at(2_000)) == [])
        #expect(window.close(by: "somebody", at: at(2_000)) == [])
    }

    @Test func `when bluetoothd disappears the window has failed, and a search ends`() throws {
        var window = try makeWindow()
        _ = window.scan(for: .seconds(600), by: "a test", at: at(10))
        let actions = window.lost("bluetoothd has left the bus", at: at(1_000))
        #expect(finished(actions)?.outcome == .failed)
        #expect(!window.isSearching)
    }

    @Test func `a search runs with and without a window, and is not restarted at once after a failure`() throws {
        var window = PairingWindow()
        #expect(
            acts(window.scan(for: .seconds(10), by: "a test", at: at(0))) == [
                .startDiscovery, .setDeadline(at(10_000)),
            ])
        #expect(acts(window.discoveryFailed("no", at: at(100))) == [.setDeadline(at(2_100))])
        #expect(acts(window.deadlineReached(at: at(2_100))) == [.startDiscovery, .setDeadline(at(10_000))])
        #expect(acts(window.deadlineReached(at: at(10_000))) == [.stopDiscovery])
        #expect(window.state == .closed)
    }

    @Test(
        arguments: [
            (["00:00:5E:00:53:01"], nil), (["Jabra*", "?"], "0000"), ([String](), "1234567890123456"),
        ] as [([String], String?)])
    func `valid rules are accepted`(allow: [String], pin: String?) throws {
        #expect(try PairingRules(allow: allow, pin: pin).allowed.count == allow.count)
    }

    @Test(
        arguments: [
            ([""], nil), ([String(repeating: "a", count: 101)], nil), (["a\u{7}"], nil),
            (Array(repeating: "a", count: 33), nil), ([String](), ""), ([String](), "12345678901234567"),
            ([String](), "12 34"), ([String](), "ä"),
        ] as [([String], String?)])
    func `invalid rules are refused with what is accepted`(allow: [String], pin: String?) throws {
        let error = #expect(throws: PairingRules.Refusal.self) { try PairingRules(allow: allow, pin: pin) }
        #expect(error?.description.contains("accepted: ") == true)
    }

    @Test func `in any order of inputs the window closes in time, and every search that begins ends`() throws {
        for seed in 0..<200 {
            var random = SeededGenerator(seed: UInt64(seed))
            var window = PairingWindow()
            var (searching, open, asked) = (false, 0, 0)
            var pending: [Int] = []
            var now = 0
            func handle(_ actions: [PairingWindow.Action]) {
                for action in actions {
                    switch action {
                    case .startDiscovery:
                        #expect(!searching)
                        searching = true
                    case .stopDiscovery:
                        #expect(searching)
                        searching = false
                    case .pair(_, let number), .trust(_, let number), .connect(_, let number):
                        asked += 1
                        #expect(number == asked)
                        pending.append(number)
                    case .close: open -= 1
                    case .audit, .setDeadline, .cancelPairing, .dropBond, .finished: break
                    }
                }
            }
            for _ in 0..<80 {
                now += Int.random(in: 0...4_000, using: &random)
                switch Int.random(in: 0...7, using: &random) {
                case 0 where window.state == .closed:
                    open += 1
                    handle(window.open(for: .seconds(30), try PairingRules(), by: "a test", at: at(now)))
                case 1: handle(window.scan(for: .seconds(5), by: "a test", at: at(now)))
                case 2: handle(window.close(by: "a test", at: at(now)))
                case 3:
                    let number = pending.popLast() ?? 0
                    handle(window.answered(number, Bool.random(using: &random) ? .done : .failed("no"), at: at(now)))
                case 4: _ = window.asked(Self.second, .authorization, at: at(now))
                default:
                    let devices = [
                        device(rssi: Bool.random(using: &random) ? -40 : nil),
                        device(Self.second, isPaired: Bool.random(using: &random)),
                    ]
                    let hasCall = Bool.random(using: &random)
                    handle(window.update(devices, hasCall: hasCall, at: at(now)))
                    #expect(!hasCall || !searching)
                }
            }
            // All is answered, without new input.
            handle(window.update([], hasCall: false, at: at(now)))
            while let number = pending.popLast() { handle(window.answered(number, .failed("no"), at: at(now))) }
            handle(window.answered(asked, .failed("no"), at: at(now)))
            handle(window.deadlineReached(at: at(now + 60_000)))
            #expect(window.state == .closed && !window.isSearching && !searching && open == 0, "seed \(seed)")
        }
    }
}
