import BluetoothTypes
import HeadsetPolicy
import Testing

@Suite struct VoiceLinkTests {
    private static let start = Instant(milliseconds: 1000)

    /// Shortest way to each state.
    private static let ways: [(name: String, inputs: [LinkInput])] = [
        ("closed", []),
        ("silence", [.silent, .requested(attempt: 1)]),
        ("music", [.requested(attempt: 1)]),
        ("agreeing", [.requested(attempt: 1), .roomMade]),
        ("queued", [.requested(attempt: 1), .roomMade, .connect(.mSBC)]),
        ("opening", [.requested(attempt: 1), .roomMade, .connect(.mSBC), .turnCame]),
        ("blocked", [.requested(attempt: 1), .roomMade, .connect(.mSBC), .turnCame, .openingFailed(.busy)]),
        ("awaiting", [.requested(attempt: 1), .roomMade, .connect(.mSBC), .turnCame, .linkCame]),
        ("open", [.requested(attempt: 1), .roomMade, .connect(.mSBC), .turnCame, .linkCame, .firstPacket]),
        ("closing", way("open") + [.closeRequested]),
        ("reclosing", way("open") + [.closeRequested, .requested(attempt: 1)]),
        ("withdrawn", way("opening") + [.closeRequested]),
        ("rewanted", way("opening") + [.closeRequested, .requested(attempt: 1)]),
        ("orphaned", way("opening") + [.sessionEnded]),
        ("grace", way("open") + [.ended(.byHeadset)]),
        ("over", [.sessionEnded]),
    ]

    private static let toOpening: [LinkInput] = [.requested(attempt: 1), .roomMade, .connect(.mSBC), .turnCame]

    private static func way(_ name: String) -> [LinkInput] {
        name == "opening" ? toOpening : toOpening + [.linkCame, .firstPacket]
    }

    private func link(_ name: String) throws -> VoiceLink {
        var link = VoiceLink()
        let inputs = try #require(Self.ways.first { $0.name == name }).inputs
        for input in inputs { _ = input.apply(to: &link, at: Self.start) }
        #expect(link.name == name)
        return link
    }

    /// Each input of the columns of `table`, in order.
    private static let columns: [LinkInput] = [
        .requested(attempt: 1), .closeRequested, .roomMade, .heard, .sessionEnded, .connect(.cvsd), .accept(.cvsd),
        .disconnect, .negotiationFailed(.refused), .turnCame, .turnRefused, .linkCame, .openingFailed(.refused),
        .openingFailed(.busy), .firstPacket, .ended(.byHeadset), .ended(.lost),
    ]

    /// For each state the state after each input; `.` is no change, `!` a fault of our own.
    private static let table = """
        state     request   close     room     heard session  connect accept  disconnect failed  turn    noTurn   link     refused  busy    packet byHeadset lost
        closed    music     .         .        .     over     queued  queued  .          .       .       .        !        !        !       .      .         .
        silence   .         closed    .        music over     queued  queued  .          closed  .       .        !        !        !       .      .         .
        music     .         closed    agreeing .     over     queued  queued  .          closed  .       .        !        !        !       .      .         .
        agreeing  .         closed    .        .     over     queued  queued  .          closed  .       .        !        !        !       .      .         .
        queued    .         closed    .        .     over     !       !       closed     .       opening agreeing !        !        !       .      .         .
        opening   .         withdrawn .        .     orphaned !       !       withdrawn  .       .       .        awaiting agreeing blocked .      .         .
        blocked   .         closed    .        .     over     !       !       closed     .       .       .        !        !        !       .      .         .
        awaiting  .         closed    .        .     over     !       !       closed     .       .       .        !        !        !       open   queued    queued
        open      .         closing   .        .     over     !       !       closing    .       .       .        !        !        !       .      grace     closed
        closing   reclosing .         .        .     over     !       !       .          .       .       .        !        !        !       .      closed    closed
        reclosing .         closing   .        .     over     !       !       .          .       .       .        !        !        !       .      music     music
        withdrawn rewanted  .         .        .     orphaned !       !       .          .       .       .        closed   closed   closed  .      .         .
        rewanted  .         withdrawn .        .     orphaned !       !       .          .       .       .        music    music    music   .      .         .
        orphaned  .         .         .        .     .        !       !       .          .       .       .        over     over     over    .      .         .
        grace     music     closed    .        .     over     queued  queued  .          .       .       .        !        !        !       .      .         .
        over      .         .         .        .     .        .       .       .          .       .       .        !        !        !       .      .         .
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

    private func after(_ milliseconds: Int64) -> Instant { Self.start.advanced(by: .milliseconds(milliseconds)) }

    /// Inputs and the expected actions of each.
    private func play(
        _ link: inout VoiceLink, _ steps: [(at: Int64, input: LinkInput, actions: [VoiceLink.Action])]
    ) {
        for (index, step) in steps.enumerated() {
            let actions = step.input.apply(to: &link, at: after(step.at))
            #expect(actions == step.actions, "step \(index + 1), \(step.input)")
        }
    }

    @Test func `a request passes through music, codec, queue, kernel and first packet`() {
        var link = VoiceLink()
        play(
            &link,
            [
                (0, .requested(attempt: 1), [.makeRoom, .setDeadline(after(6000))]),
                (400, .roomMade, [.gateway(.connect(hint: nil))]),
                (700, .connect(.mSBC), [.queue(limit: .milliseconds(4600), pauses: true)]),
                (700, .turnCame, [.open(.mSBC, limit: .milliseconds(4600))]),
                (900, .linkCame, [.carry, .setDeadline(after(1900))]),
                (
                    910, .firstPacket,
                    [
                        .leaveQueue, .setUpEnded(.mSBC, nil), .gateway(.opened(.mSBC)), .report(.opened(.mSBC)),
                        .setDeadline(nil),
                    ]
                ),
                (5000, .closeRequested, [.gateway(.disconnect), .close]),
                (5000, .disconnect, []),
                (5020, .ended(.requested), [.gateway(.closed), .report(.closed(.requested))]),
            ])
        #expect(link.state == .closed)
    }

    @Test func `a codec that fails is followed by the next one, for the same request`() throws {
        var link = try link("opening")
        play(
            &link,
            [
                (
                    50, .openingFailed(.refused),
                    [.note(.refused), .leaveQueue, .setUpEnded(.mSBC, .refused), .gateway(.failed(.refused))]
                ),
                (60, .connect(.cvsd), [.queue(limit: LinkInput.limit, pauses: true)]),
                (60, .turnCame, [.open(.cvsd, limit: LinkInput.limit)]),
                (
                    70, .openingFailed(.timedOut),
                    [.note(.refused), .leaveQueue, .setUpEnded(.cvsd, .timedOut), .gateway(.failed(.timedOut))]
                ),
                (70, .negotiationFailed(.timedOut), [.report(.failed(.timedOut)), .setDeadline(nil)]),
            ])
    }

    @Test func `a link without packets is opened once more after the pause`() throws {
        var link = try link("awaiting")
        play(
            &link,
            [
                (
                    1000, .deadline,
                    [
                        .close, .startPause, .note(.nothingCameIn(isUp: true, isLast: false)), .retried, .queueAgain,
                        .setDeadline(after(6000)),
                    ]
                ),
                (1010, .ended(.requested), []),
                (1300, .turnCame, [.open(.mSBC, limit: LinkInput.limit)]),
                (1400, .linkCame, [.carry, .setDeadline(after(2400))]),
                (
                    1500, .ended(.lost),
                    [
                        .close, .startPause, .note(.nothingCameIn(isUp: false, isLast: true)), .leaveQueue,
                        .setUpEnded(.mSBC, .failed), .gateway(.failed(.failed)), .setDeadline(after(6000)),
                    ]
                ),
            ])
    }

    @Test func `a link opened by the headset is tried once`() {
        var link = VoiceLink()
        play(
            &link,
            [
                (0, .accept(.cvsd), [.queue(limit: .seconds(5), pauses: false)]),
                (0, .turnCame, [.accept(.cvsd, limit: .seconds(5))]),
                (10, .linkCame, [.carry, .setDeadline(after(1010))]),
                (
                    1010, .deadline,
                    [
                        .close, .startPause, .note(.nothingCameIn(isUp: true, isLast: true)), .leaveQueue,
                        .setUpEnded(.cvsd, .failed), .gateway(.failed(.failed)),
                    ]
                ),
            ])
        #expect(link.state == .closed)
    }

    @Test func `a link that the headset opens first fulfils the request`() throws {
        for state in ["music", "silence", "agreeing"] {
            var link = try link(state)
            for input in [LinkInput.accept(.cvsd), .turnCame, .linkCame] { _ = input.apply(to: &link, at: after(1)) }
            let actions = LinkInput.firstPacket.apply(to: &link, at: after(2))
            #expect(actions.contains(.report(.opened(.cvsd))), "\(state)")
        }
        var own = VoiceLink()
        for input in [LinkInput.accept(.cvsd), .turnCame] { _ = input.apply(to: &own, at: after(1)) }
        #expect(LinkInput.requested(attempt: 1).apply(to: &own, at: after(2)) == [.setDeadline(after(6002))])
        _ = LinkInput.linkCame.apply(to: &own, at: after(3))
        #expect(LinkInput.firstPacket.apply(to: &own, at: after(4)).contains(.report(.opened(.cvsd))))
    }

    @Test func `a request for an open link is answered at once`() throws {
        var link = try link("open")
        #expect(LinkInput.requested(attempt: 1).apply(to: &link, at: after(1)) == [.report(.opened(.mSBC))])
    }

    @Test func `a silent headset must send something first, except for the last attempt`() {
        var link = VoiceLink()
        play(
            &link,
            [
                (0, .silent, []),
                (0, .requested(attempt: 1), [.note(.waitsForData), .setDeadline(after(6000))]),
                (5000, .closeRequested, [.report(.closed(.requested)), .setDeadline(nil)]),
                (5500, .requested(attempt: 2), [.note(.waitsForData), .setDeadline(after(11500))]),
                (6000, .heard, [.makeRoom]),
                (6000, .closeRequested, [.leaveRoom, .report(.closed(.requested)), .setDeadline(nil)]),
                (7000, .silent, []),
                (7000, .requested(attempt: 3), [.retried, .makeRoom, .setDeadline(after(13000))]),
            ])
    }

    @Test func `a busy kernel is asked again, and a dead headset is disconnected once`() throws {
        var link = try link("opening")
        for number in 0..<20 {
            let time = Int64(number) * 100
            #expect(
                LinkInput.openingFailed(.busy).apply(to: &link, at: after(time)) == [.setDeadline(after(time + 100))])
            let again = LinkInput.deadline.apply(to: &link, at: after(time + 100))
            #expect(again == [.open(.mSBC, limit: LinkInput.limit), .setDeadline(after(6000))])
        }
        let end: [VoiceLink.Action] = [.leaveQueue, .setUpEnded(.mSBC, .busy), .gateway(.failed(.busy))]
        var dead = link
        #expect(LinkInput.openingFailed(.busy).apply(to: &link, at: after(2000)) == [.note(.refused)] + end)
        dead.fellSilent()
        let freed = LinkInput.openingFailed(.busy).apply(to: &dead, at: after(2000))
        #expect(freed == [.note(.refused), .freeController] + end)
        for input in [LinkInput.connect(.mSBC), .turnCame, .openingFailed(.busy)] {
            _ = input.apply(to: &dead, at: after(2000))
        }
        _ = LinkInput.deadline.apply(to: &dead, at: after(4000))
        #expect(!LinkInput.openingFailed(.busy).apply(to: &dead, at: after(4000)).contains(.freeController))
    }

    @Test func `a headset whose set-up timed out is doubted until it sends something`() throws {
        for isHeard in [false, true] {
            var link = try link("agreeing")
            _ = link.negotiationFailed(.timedOut)
            if isHeard { _ = link.heard(at: after(0)) }
            for input in [LinkInput.requested(attempt: 1), .roomMade, .connect(.cvsd), .turnCame] {
                _ = input.apply(to: &link, at: after(0))
            }
            let actions = LinkInput.openingFailed(.busy).apply(to: &link, at: after(2000))
            #expect(actions.contains(.freeController) != isHeard)
        }
    }

    @Test func `the end of a link by the headset is reported after a grace period`() throws {
        var link = try link("open")
        var other = link
        play(
            &link,
            [
                (0, .ended(.byHeadset), [.gateway(.closed), .setDeadline(after(100))]),
                (100, .deadline, [.report(.closed(.byHeadset))]),
            ])
        play(
            &other,
            [
                (0, .ended(.byHeadset), [.gateway(.closed), .setDeadline(after(100))]),
                (
                    50, .accept(.cvsd),
                    [.report(.closed(.byHeadset)), .queue(limit: LinkInput.limit, pauses: false), .setDeadline(nil)]
                ),
            ])
        var talkKey = try self.link("open")
        talkKey.gracePeriod = .milliseconds(300)
        play(
            &talkKey,
            [
                (0, .ended(.byHeadset), [.gateway(.closed), .setDeadline(after(300))]),
                (300, .deadline, [.report(.closed(.byHeadset))]),
            ])
        var lost = try self.link("open")
        play(&lost, [(0, .ended(.lost), [.gateway(.closed), .report(.closed(.lost))])])
        var closed = try self.link("closing")
        play(&closed, [(0, .ended(.lost), [.gateway(.closed), .report(.closed(.requested))])])
    }

    @Test func `a withdrawn set-up ends before its end is reported`() throws {
        let cancelled: [VoiceLink.Action] = [
            .leaveQueue, .setUpEnded(.mSBC, .cancelled), .gateway(.failed(.cancelled)), .report(.closed(.requested)),
        ]
        var queued = try link("queued")
        play(&queued, [(0, .closeRequested, [.gateway(.disconnect)] + cancelled + [.setDeadline(nil)])])
        var opening = try link("opening")
        play(
            &opening,
            [
                (0, .closeRequested, [.gateway(.disconnect), .cancelOpening, .setDeadline(nil)]),
                (5, .openingFailed(.cancelled), [.note(.refused)] + cancelled),
            ])
        var late = try link("withdrawn")
        play(&late, [(5, .linkCame, [.discard, .startPause] + cancelled)])
        var awaiting = try link("awaiting")
        play(
            &awaiting,
            [(0, .closeRequested, [.gateway(.disconnect), .close, .startPause] + cancelled + [.setDeadline(nil)])])
    }

    @Test func `a new request meanwhile begins when the previous link has ended`() throws {
        var link = try link("reclosing")
        let actions = LinkInput.ended(.requested).apply(to: &link, at: after(20))
        #expect(actions == [.gateway(.closed), .report(.closed(.requested)), .makeRoom])
    }

    @Test func `the end of the connection ends everything without a report`() throws {
        for (name, _) in Self.ways {
            var link = try link(name)
            var actions = LinkInput.sessionEnded.apply(to: &link, at: after(0))
            #expect(link.isOver)
            if case .abandoned = link.state { actions += LinkInput.linkCame.apply(to: &link, at: after(1)) }
            #expect(link.state == .over)
            let isTold = actions.contains {
                switch $0 {
                case .report, .gateway: true
                default: false
                }
            }
            #expect(!isTold, "\(name)")
        }
    }

    @Test func `a failure is noted once, with its reason`() throws {
        var unanswered = try link("agreeing")
        #expect(
            LinkInput.negotiationFailed(.unanswered).apply(to: &unanswered, at: after(0))
                == [.note(.noCodec(.unanswered)), .report(.failed(.unanswered)), .setDeadline(nil)])
        var passedOver = try link("queued")
        #expect(
            LinkInput.turnRefused.apply(to: &passedOver, at: after(0))
                == [.note(.noTurn), .leaveQueue, .setUpEnded(.mSBC, .busy), .gateway(.failed(.busy))])
        #expect(
            LinkInput.negotiationFailed(.busy).apply(to: &passedOver, at: after(0))
                == [.report(.failed(.busy)), .setDeadline(nil)])
        // The headset's own link, later.
        #expect(
            LinkInput.negotiationFailed(.busy).apply(to: &passedOver, at: after(0))
                == [.note(.noCodec(.busy)), .report(.failed(.busy))])
    }

    @Test func `a request that is not withdrawn fails after its grace period`() throws {
        for name in [
            "silence", "music", "agreeing", "queued", "opening", "blocked", "awaiting", "reclosing", "rewanted",
        ] {
            var link = try link(name)
            let state = link.state
            let actions = LinkInput.deadline.apply(to: &link, at: after(6000))
            #expect(actions.contains(.report(.failed(.timedOut))), "\(name)")
            #expect(actions.contains(.note(.expired(state))), "\(name)")
            #expect(link.request == nil)
        }
    }
}
