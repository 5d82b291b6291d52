package import BluetoothTypes
package import Telephony

/// Follows a running baresip (Debian's 1.0.0 and 1.1.0) through its module `ctrl_tcp`: its events become calls, requests of
/// headsets and clients become commands.
///
/// - baresip's commands apply to the *current* call of its current account, so a command is preceded by those that make it
///   current, with no other command in between. An answered command has been carried out; an answer to a call has been
///   carried out when baresip reports the call as established.
/// - baresip does not report its own holds: they are read from `listcalls` after anything that may have changed them. 1.0
///   does not report the far end's either; 1.1 does, and they are not shown.
/// - In 1.0 an outgoing call has no id until the far end rings; until then it is identified by its peer.
/// - 1.1 answers `resume` with "Invalid argument" although it resumes the call: the list decides.
/// - 1.1 finds a call in any account by its id, and has no current account.
/// - Only one connection exists: each program that connects takes it from the previous one.
package struct BaresipFollower: Sendable {
    /// Identifies a call for its whole lifetime; never reused.
    package struct CallKey: Hashable, Comparable, Sendable {
        package let value: UInt32

        package static func < (left: CallKey, right: CallKey) -> Bool { left.value < right.value }
    }

    package struct RequestID: Hashable, Sendable {
        package let value: UInt64

        package init(_ value: UInt64) {
            self.value = value
        }
    }

    package enum Request: Equatable, Sendable {
        case dial(CallKey, String)
        case answer(CallKey)
        case end(CallKey, CallEndReason)
        case setHeld(CallKey, Bool)
        case setMuted(CallKey, Bool)
        /// 0…9, A…D, * and #.
        case sendTones(CallKey, String)

        var call: CallKey {
            switch self {
            case .dial(let key, _), .answer(let key), .end(let key, _), .setHeld(let key, _), .setMuted(let key, _),
                .sendTones(let key, _):
                key
            }
        }
    }

    /// Reason why a request was not carried out.
    package enum Failure: Error, Equatable, Sendable {
        /// baresip is not running, or left meanwhile.
        case away
        case noSuchCall
        case timedOut(String)
        /// baresip's answer.
        case refused(String)
        /// Cannot be expressed to baresip.
        case invalid(String)
    }

    package enum Notice: Equatable, Sendable {
        /// The other end answers like baresip; its release, if it has an account.
        case following(BaresipRelease?)
        /// Nothing listens there, or it ended; reported once until it is back.
        case away(String)
        case stranger(String)
        case odd(String)
    }

    package enum Action: Equatable, Sendable {
        case connect
        case disconnect
        case send(command: String, parameters: String?, token: String)
        /// baresip was found: its calls follow.
        case appeared
        /// baresip is gone, and all its calls.
        case vanished
        /// A call that was not requested here.
        case added(CallKey, CallDirection, BaresipPeer, CallState)
        case changed(CallKey, CallState)
        case completed(RequestID, Failure?)
        case note(Notice)
    }

    enum Connection {
        case stopped
        case pausing(until: Instant)
        case connecting(until: Instant)
        /// Until the other end has proved to be baresip.
        case greeting(until: Instant)
        case following(since: Instant)
    }

    struct Call {
        let key: CallKey
        let direction: CallDirection
        /// The SIP Call-ID.
        var id: String?
        var account: String
        var peer: String
        var state: CallState
        /// Reason for its end, if it was requested here.
        var endReason: CallEndReason?
    }

    enum Work {
        case greet
        /// Adopts the existing calls.
        case survey(Survey)
        /// Reads which calls are held.
        case refresh(account: String)
        case request(Request, RequestID)
        /// Ends a call that nobody is notified of.
        case refuse(CallKey)

        /// The call concerned.
        var call: CallKey? {
            switch self {
            case .greet, .survey, .refresh: nil
            case .refuse(let key): key
            case .request(let request, _): request.call
            }
        }
    }

    struct Survey {
        /// Accounts not examined yet.
        var accounts: [String]
        var account = ""
        var lines: [BaresipListing.Line] = []
        var marked: BaresipListing.Line?
        /// Made the current one again at the end.
        let current: String?
    }

    enum Stage {
        case account, call, command, again, status, list, line, verify, restoreLine, restoreAccount
    }

    struct Job {
        var work: Work
        let deadline: Instant
        var stage = Stage.command
        var token: String?
        /// baresip's answer to a command whose effect is verified.
        var refusal = ""
    }

    package static let pauses: [Duration] = [
        .seconds(1), .seconds(2), .seconds(4), .seconds(8), .seconds(16), .seconds(30),
    ]
    /// Timeout for baresip to carry out a command, and to prove that it is baresip. Shorter than btcalld's timeout for
    /// providers (5 s), so that the reason reaches the caller.
    package static let answerTimeout = Duration.seconds(4)
    /// A connection that lasted this long was not taken away by a program that does the same.
    private static let steady = Duration.seconds(30)
    static let mostWaiting = 64
    static let mostAccounts = 64

    /// The account that dials; nil leaves it to baresip.
    let account: String?
    var connection = Connection.stopped
    var attempts = 0
    var isAwaySaid = false
    var hasSaidGoodbye = false
    var reader = NetstringReader()
    var accounts: [String] = []
    /// Nil until it is recognised.
    var release: BaresipRelease?
    var calls: [Call] = []
    var nextCall: UInt32 = 1
    var nextToken: UInt64 = 1
    /// The first one has been sent to baresip.
    var jobs: [Job] = []
    /// Answers accepted by baresip, until the call is established.
    var answers: [(call: CallKey, request: RequestID, deadline: Instant)] = []

    /// - Parameter account: the address of record of the account that dials (`sip:alice@example.org`).
    package init(account: String? = nil) {
        self.account = account
    }

    /// Next time for `deadlineReached`; nil without one.
    package var deadline: Instant? {
        var earliest: Instant?
        func consider(_ instant: Instant) { earliest = earliest.map { min($0, instant) } ?? instant }
        switch connection {
        case .stopped, .following: break
        case .pausing(let until), .connecting(let until), .greeting(let until): consider(until)
        }
        for job in jobs { consider(job.deadline) }
        for answer in answers { consider(answer.deadline) }
        return earliest
    }

    // MARK: The connection

    package mutating func start(at now: Instant) -> [Action] {
        guard case .stopped = connection else { return [] }
        attempts = 0
        isAwaySaid = false
        connection = .connecting(until: now.advanced(by: Self.answerTimeout))
        return [.connect]
    }

    /// Stops following; ends calls and requests.
    package mutating func stop() -> [Action] {
        var actions: [Action] = []
        let isConnected: Bool
        switch connection {
        case .stopped, .pausing: isConnected = false
        case .connecting, .greeting, .following: isConnected = true
        }
        leave(&actions)
        if isConnected { actions.append(.disconnect) }
        connection = .stopped
        return actions
    }

    package mutating func connected(at now: Instant) -> [Action] {
        guard case .connecting = connection else { return [] }
        connection = .greeting(until: now.advanced(by: Self.answerTimeout))
        reader = NetstringReader()
        hasSaidGoodbye = false
        var actions: [Action] = []
        add(.greet, at: now, &actions)
        return actions
    }

    /// Handles a connection that failed or has ended.
    package mutating func disconnected(_ reason: String, at now: Instant) -> [Action] {
        var actions: [Action] = []
        switch connection {
        case .stopped, .pausing: return []
        case .connecting, .greeting: break
        case .following(let since):
            if hasSaidGoodbye || since.duration(to: now) >= Self.steady { attempts = 0 }
        }
        leave(&actions)
        if !isAwaySaid {
            isAwaySaid = true
            actions.append(.note(.away(reason)))
        }
        pause(at: now)
        return actions
    }

    private mutating func pause(at now: Instant) {
        let pause = Self.pauses[min(attempts, Self.pauses.count - 1)]
        attempts += 1
        connection = .pausing(until: now.advanced(by: pause))
    }

    /// Leaves a program alone for the longest pause, because it is not baresip, or no longer.
    mutating func abandon(_ reason: String, at now: Instant, _ actions: inout [Action]) {
        leave(&actions)
        if !isAwaySaid {
            isAwaySaid = true
            actions.append(.note(.stranger(reason)))
        }
        attempts = Self.pauses.count
        pause(at: now)
        actions.append(.disconnect)
    }

    private mutating func leave(_ actions: inout [Action]) {
        var wasFollowing = false
        if case .following = connection { wasFollowing = true }
        for answer in answers { actions.append(.completed(answer.request, .away)) }
        for job in jobs {
            if case .request(_, let id) = job.work { actions.append(.completed(id, .away)) }
        }
        answers = []
        jobs = []
        calls = []
        accounts = []
        release = nil
        if wasFollowing { actions.append(.vanished) }
    }

    package mutating func deadlineReached(at now: Instant) -> [Action] {
        var actions: [Action] = []
        switch connection {
        case .stopped, .following: break
        case .pausing(let until):
            if until <= now {
                connection = .connecting(until: now.advanced(by: Self.answerTimeout))
                actions.append(.connect)
            }
        case .connecting(let until):
            if until <= now {
                actions += disconnected("no connection within \(Self.answerTimeout)", at: now)
                actions.append(.disconnect)
            }
        case .greeting(let until):
            if until <= now { abandon("it does not answer within \(Self.answerTimeout)", at: now, &actions) }
        }
        expire(at: now, &actions)
        return actions
    }

    private mutating func expire(at now: Instant, _ actions: inout [Action]) {
        for answer in answers where answer.deadline <= now {
            actions.append(
                .completed(
                    answer.request,
                    .timedOut("baresip accepted the answer but did not establish the call; its log says why")))
        }
        answers.removeAll { $0.deadline <= now }
        let isFirstLate = jobs.first.map { $0.deadline <= now } ?? false
        let late = jobs.filter { $0.deadline <= now }
        jobs.removeAll { $0.deadline <= now }
        for job in late { fail(job, .timedOut("baresip did not answer within \(Self.answerTimeout)"), &actions) }
        if isFirstLate { begin(&actions) }
    }
}
