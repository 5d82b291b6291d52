import BluetoothTypes
import HeadsetPolicy
import Testing

/// An input of a headset's A2DP stream, as a value.
private enum Input: Hashable {
    case appeared, vanished, stopped
    case acquired, suspended, refused, cancelled, released
    case openRequested, closeRequested, keepBack, resume, wanted, unwanted
    case taken, routeBegan, routeRefused, left, routeFailed, outputFailed, deadline

    func apply(to link: inout MediaLink, at now: Instant) -> [MediaLink.Action] {
        switch self {
        case .appeared: return link.appeared()
        case .vanished: return link.vanished()
        case .stopped: return link.stopped(at: now)
        case .acquired: return link.acquired(isHeld: true, at: now)
        case .suspended: return link.acquired(isHeld: false, at: now)
        case .refused: return link.acquisitionFailed(isCancelled: false, at: now)
        case .cancelled: return link.acquisitionFailed(isCancelled: true, at: now)
        case .released: return link.released()
        case .openRequested: return link.openRequested()
        case .closeRequested: return link.closeRequested()
        case .keepBack: return link.keepBack()
        case .resume: return link.resume()
        case .wanted, .unwanted:
            let actions = link.setOutputWanted(self == .wanted) ?? []
            return actions + link.performStep()
        case .taken:
            _ = link.beginOutput(at: now)
            return []
        case .routeBegan: return link.routeBegan()
        case .routeRefused: return link.routeRefused()
        case .left: return link.streamLeft()
        case .routeFailed: return link.streamFailed(isRoute: true, by: .lost, at: now)
        case .outputFailed: return link.streamFailed(isRoute: false, by: .byHeadset, at: now)
        case .deadline: return link.deadlineReached(at: now)
        }
    }
}

extension MediaLink {
    /// The state's name in the table.
    var name: String {
        switch state {
        case .released: "released"
        case .acquiring: "acquiring"
        case .held(isDead: true): "dead"
        case .held: "held"
        case .used(.route, isDead: true): "deadRoute"
        case .used(.route, _): "route"
        case .used(.output, isDead: true): "deadOutput"
        case .used(.output, _): "output"
        case .releasing: "releasing"
        }
    }
}

@Suite struct MediaLinkTests {
    private static let start = Instant(milliseconds: 1000)

    private func after(_ milliseconds: Int64) -> Instant { Self.start.advanced(by: .milliseconds(milliseconds)) }

    private static let ways: [(name: String, inputs: [Input])] = [
        ("released", [.appeared]),
        ("acquiring", [.appeared, .openRequested]),
        ("held", [.appeared, .wanted, .acquired]),
        ("route", [.appeared, .openRequested, .acquired, .routeBegan]),
        ("output", [.appeared, .wanted, .acquired, .taken]),
        ("deadRoute", [.appeared, .openRequested, .acquired, .routeBegan, .routeFailed]),
        ("deadOutput", [.appeared, .wanted, .acquired, .taken, .outputFailed]),
        ("releasing", [.appeared, .wanted, .acquired, .unwanted]),
    ]

    private static let columns: [Input] = [
        .vanished, .stopped, .acquired, .refused, .released, .openRequested, .closeRequested, .keepBack, .wanted,
        .unwanted,
        .taken, .routeRefused, .left,
    ]

    /// For each state the state after each input; `.` is no change, `!` a fault of our own.
    private static let table = """
        state      vanished   stopped    acquired refused  released open      close     keepBack  wanted    unwanted  taken  noRoute   left
        released   .          .          !        !        !        acquiring .         .         acquiring .         .      !         .
        acquiring  .          .          route    released !        .         .         .         .         .         .      !         .
        held       releasing  releasing  !        !        !        route     .         releasing .         releasing output !         .
        route      deadRoute  deadRoute  !        !        !        .         .         .         .         .         .      releasing .
        output     deadOutput deadOutput !        !        !        .         .         .         .         .         .      !         held
        deadRoute  .          .          !        !        !        .         .         .         .         .         .      releasing releasing
        deadOutput .          .          !        !        !        .         .         .         .         .         .      !         releasing
        releasing  .          .          !        !        released .         .         .         .         .         .      !         .
        """

    @Test func `every state handles every input according to the table`() throws {
        let rows = Self.table.split(separator: "\n").dropFirst().map { $0.split(separator: " ").map { String($0) } }
        #expect(rows.map { $0[0] } == Self.ways.map(\.name))
        for row in rows {
            for (input, expected) in zip(Self.columns, row.dropFirst()) {
                var link = try link(row[0])
                let actions = input.apply(to: &link, at: Self.start)
                let hasFault = actions.contains { if case .fault = $0 { true } else { false } }
                #expect(hasFault == (expected == "!"), "\(row[0]), \(input): \(actions)")
                let next = expected == "." || expected == "!" ? row[0] : expected
                #expect(link.name == next, "\(row[0]), \(input): \(actions)")
            }
        }
    }

    private func link(_ name: String) throws -> MediaLink {
        var link = MediaLink()
        let inputs = try #require(Self.ways.first { $0.name == name }).inputs
        for input in inputs { _ = input.apply(to: &link, at: Self.start) }
        #expect(link.name == name)
        return link
    }

    private func play(_ link: inout MediaLink, _ steps: [(at: Int64, input: Input, actions: [MediaLink.Action])]) {
        for (index, step) in steps.enumerated() {
            let actions = step.input.apply(to: &link, at: after(step.at))
            #expect(actions == step.actions, "step \(index + 1), \(step.input)")
        }
    }

    @Test func `calls use the stream until the policy ends it`() {
        var link = MediaLink()
        play(
            &link,
            [
                (0, .appeared, []),
                (0, .openRequested, [.streamsChanged, .acquire]),
                (100, .acquired, [.failureOver, .changed, .beginRoute]),
                (100, .routeBegan, [.report(.opened)]),
                (900, .closeRequested, [.closeRoute]),
                (910, .left, [.release]),
                (920, .released, [.changed, .report(.closed(.requested))]),
            ])
    }

    @Test func `playback beside the calls makes way for the route, and resumes`() throws {
        var link = try link("output")
        play(
            &link,
            [
                (0, .openRequested, [.streamsChanged]),
                (5, .left, [.beginRoute]),
                (5, .routeBegan, [.report(.opened)]),
                (50, .closeRequested, [.closeRoute]),
                (55, .left, [.report(.closed(.requested)), .lookAgain]),
            ])
        #expect(link.mayPlay)
    }

    @Test func `a voice link suspends playback beside the calls, also a request made just before`() throws {
        var link = MediaLink()
        play(
            &link,
            [
                (0, .appeared, []), (0, .wanted, [.acquire]),
                (10, .keepBack, [.streamsChanged, .cancelAcquisition]),
                (10, .keepBack, []),
                (20, .cancelled, []),
                (30, .resume, [.streamsChanged, .acquire]),
            ])
        var playing = try self.link("output")
        play(&playing, [(0, .keepBack, [.streamsChanged]), (5, .left, [.release]), (9, .released, [.changed])])
        #expect(!playing.mayPlay)
    }

    @Test func `a headset that refuses playback beside the calls is retried after growing pauses`() {
        var link = MediaLink()
        _ = link.appeared()
        _ = link.setOutputWanted(true)
        var now: Int64 = 0
        #expect(link.performStep() == [.acquire])
        for pause: Int64 in [1000, 2000, 4000, 8000, 8000] {
            play(&link, [(now, .refused, [.failure, .lookAgain, .setDeadline(after(now + pause))])])
            now += pause
            play(&link, [(now, .deadline, [.acquire, .streamsChanged])])
        }
        play(&link, [(now, .refused, [.failure, .lookAgain, .setDeadline(after(now + 8000))])])
        play(&link, [(now + 1, .appeared, [.acquire, .setDeadline(nil)])])
    }

    @Test func `a long playback clears a headset's earlier refusals`() throws {
        var link = try link("output")
        play(
            &link,
            [
                (100, .outputFailed, [.lookAgain, .setDeadline(after(1100))]), (110, .left, [.release]),
                (120, .released, [.changed, .lookAgain]), (1100, .deadline, [.acquire, .streamsChanged]),
                (1200, .acquired, [.failureOver, .changed, .lookAgain]), (1200, .taken, []),
                (1300, .outputFailed, [.lookAgain, .setDeadline(after(3300))]), (1310, .left, [.release]),
                (1320, .released, [.changed, .lookAgain]), (3300, .deadline, [.acquire, .streamsChanged]),
                (3400, .acquired, [.failureOver, .changed, .lookAgain]), (3400, .taken, []),
                (20000, .outputFailed, [.lookAgain, .setDeadline(after(21000))]),
            ])
    }

    @Test func `a route that ends unasked is reported after a grace period, unless the profile goes`() throws {
        var link = try link("route")
        var leaving = link
        play(
            &link,
            [
                (0, .routeFailed, [.noteLoss, .setDeadline(after(100))]), (5, .left, [.release]),
                (9, .released, [.changed, .lookAgain]), (100, .deadline, [.report(.closed(.lost))]),
            ])
        play(
            &leaving,
            [
                (0, .stopped, [.noteLoss, .closeRoute, .setDeadline(after(100))]),
                (50, .vanished, [.closeRoute, .setDeadline(nil)]), (60, .left, [.release]),
                (70, .released, [.changed, .lookAgain]),
            ])
    }

    @Test func `a stream acquired after its profile has gone is released`() throws {
        for input in [Input.acquired, .suspended] {
            var link = try link("acquiring")
            _ = Input.vanished.apply(to: &link, at: after(1))
            #expect(input.apply(to: &link, at: after(2)).contains(.release))
            #expect(Input.released.apply(to: &link, at: after(3)) == [.changed, .lookAgain])
        }
    }

    @Test func `a route to a headset without A2DP fails`() {
        var link = MediaLink()
        play(&link, [(0, .openRequested, [.streamsChanged, .report(.failed)])])
        _ = link.appeared()
        play(
            &link,
            [(0, .openRequested, [.streamsChanged, .acquire]), (9, .refused, [.noteRefusal, .report(.refused)])])
        var refused = MediaLink()
        _ = refused.appeared()
        play(
            &refused,
            [
                (0, .openRequested, [.streamsChanged, .acquire]),
                (9, .acquired, [.failureOver, .changed, .beginRoute]),
                (9, .routeRefused, [.report(.failed), .release]),
            ])
    }

    @Test(arguments: randomCourses(100))
    func `random events keep one user at a time and one call to bluetoothd at a time`(_ seed: Int) {
        var world = MediaWorld(seed: UInt64(seed))
        for _ in 0..<600 where world.broken.isEmpty { world.step() }
        world.settle()
        #expect(world.broken == [])
    }
}
