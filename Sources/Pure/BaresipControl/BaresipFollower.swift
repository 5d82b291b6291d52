package import BluetoothTypes
package import Telephony

/// Follows a running baresip (Debian's 1.0.0) through its module `ctrl_tcp`: its events become calls, what headsets and
/// clients want becomes commands.
///
/// - baresip's commands are for its *current* call of its current account, so that a command is preceded by those that make
///   it current, and nothing else is asked between. A command that is answered has been carried out; an answer to a call has
///   when baresip says that the call is established.
/// - 1.0.0 tells nothing of holds: neither its own, which are therefore read from `listcalls` after whatever may have
///   changed them, nor the far end's, which stay unknown.
/// - An outgoing call has no id until the far end rings; until then it is found by its peer.
/// - The connection is one of a kind: each program that connects takes it from the one before.
package struct BaresipFollower: Sendable {
    /// Names a call for its whole life, never twice.
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

    /// Why a request was not carried out.
    package enum Failure: Error, Equatable, Sendable {
        /// baresip is not there, or left meanwhile.
        case away
        case noSuchCall
        case timedOut(String)
        /// What baresip said.
        case refused(String)
        /// It cannot be said to baresip.
        case invalid(String)
    }

    package enum Notice: Equatable, Sendable {
        /// The other end answers as baresip does.
        case following
        /// Nothing listens there, or it ended; said once until it is back.
        case away(String)
        case stranger(String)
        case odd(String)
    }

    package enum Action: Equatable, Sendable {
        case connect
        case disconnect
        case send(command: String, parameters: String?, token: String)
        /// baresip is there: its calls follow.
        case appeared
        /// baresip is gone, and all calls with it.
        case vanished
        /// A call that it was not asked for.
        case added(CallKey, CallDirection, BaresipPeer, CallState)
        case changed(CallKey, CallState)
        case completed(RequestID, Failure?)
        case note(Notice)
    }

    enum Connection {
        case stopped
        case pausing(until: Instant)
        case connecting(until: Instant)
        /// Until it has shown that it is baresip.
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
        /// Why it ends, when somebody here has asked for it.
        var endReason: CallEndReason?
    }

    enum Work {
        case greet
        /// Takes up the calls that there are.
        case survey(Survey)
        /// Which calls are held.
        case refresh(account: String)
        case request(Request, RequestID)
        /// Ends a call that nobody wants to be told of.
        case refuse(CallKey)

        /// The call that it is about.
        var call: CallKey? {
            switch self {
            case .greet, .survey, .refresh: nil
            case .refuse(let key): key
            case .request(let request, _): request.call
            }
        }
    }

    struct Survey {
        /// Those not looked at yet.
        var accounts: [String]
        var account = ""
        var lines: [BaresipListing.Line] = []
        var marked: Int?
        /// Made the current one again at the end.
        let current: String?
    }

    enum Stage {
        case account, call, command, again, status, list, line, restoreLine, restoreAccount
    }

    struct Job {
        var work: Work
        let deadline: Instant
        var stage = Stage.command
        var token: String?
    }

    package static let pauses: [Duration] = [
        .seconds(1), .seconds(2), .seconds(4), .seconds(8), .seconds(16), .seconds(30),
    ]
    /// For baresip to do what it is asked, and to show that it is baresip. Shorter than btcalld waits for a provider (5 s), so
    /// that the reason gets to whoever asked.
    package static let patience = Duration.seconds(4)
    /// A connection that lasted so long was not taken away by a program that does the same.
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
    var calls: [Call] = []
    var nextCall: UInt32 = 1
    var nextToken: UInt64 = 1
    /// The first one is with baresip.
    var jobs: [Job] = []
    /// Answers that baresip has taken, until the call is established.
    var answers: [(call: CallKey, request: RequestID, deadline: Instant)] = []

    /// - Parameter account: the address of record of the account that dials (`sip:alice@example.org`).
    package init(account: String? = nil) {
        self.account = account
    }

    /// When `deadlineReached` is due; nil when nothing is waited for.
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
        connection = .connecting(until: now.advanced(by: Self.patience))
        return [.connect]
    }

    /// Nothing follows; calls and requests are over.
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
        connection = .greeting(until: now.advanced(by: Self.patience))
        reader = NetstringReader()
        hasSaidGoodbye = false
        var actions: [Action] = []
        add(.greet, at: now, &actions)
        return actions
    }

    /// The connection could not be made, or is over.
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

    /// Not baresip, or no longer: it is left alone for the longest pause.
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
        if wasFollowing { actions.append(.vanished) }
    }

    package mutating func deadlineReached(at now: Instant) -> [Action] {
        var actions: [Action] = []
        switch connection {
        case .stopped, .following: break
        case .pausing(let until):
            if until <= now {
                connection = .connecting(until: now.advanced(by: Self.patience))
                actions.append(.connect)
            }
        case .connecting(let until):
            if until <= now {
                actions += disconnected("the connection is not made within \(Self.patience)", at: now)
                actions.append(.disconnect)
            }
        case .greeting(let until):
            if until <= now { abandon("it does not answer within \(Self.patience)", at: now, &actions) }
        }
        expire(at: now, &actions)
        return actions
    }

    private mutating func expire(at now: Instant, _ actions: inout [Action]) {
        for answer in answers where answer.deadline <= now {
            actions.append(
                .completed(
                    answer.request,
                    .timedOut("baresip took the answer and does not establish the call; its log says why")))
        }
        answers.removeAll { $0.deadline <= now }
        let isFirstLate = jobs.first.map { $0.deadline <= now } ?? false
        let late = jobs.filter { $0.deadline <= now }
        jobs.removeAll { $0.deadline <= now }
        for job in late { fail(job, .timedOut("baresip did not answer within \(Self.patience)"), &actions) }
        if isFirstLate { begin(&actions) }
    }
}
