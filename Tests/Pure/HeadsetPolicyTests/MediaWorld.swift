import BluetoothTypes
import HeadsetPolicy
import TestSupport

/// One headset's A2DP stream between bluetoothd, the policy and the engine, all of them random. The rules:
///
/// - one call to bluetoothd at a time, and no release of a stream that the engine uses;
/// - one user at a time: no playback beside the calls while the route or a voice link suspends it;
/// - each request of the policy ends as opened, failed or closed, unless A2DP goes down, which implies the end;
/// - without further events the requested state is reached.
struct MediaWorld {
    private enum Call { case acquire, release }

    private var random: SeededGenerator
    private var now = Instant(milliseconds: 1000)
    private var link = MediaLink()
    private var call: Call?
    private var isCancelled = false
    private var isHeld = false
    private var user: MediaLink.User?
    private var isEnding = false
    private var deadline: Instant?
    /// The policy waits for an answer.
    private var isAwaited = false
    private var pending: [MediaLink.Action] = []
    private var isPerforming = false
    private(set) var broken: [String] = []
    private var log: [String] = []

    init(seed: UInt64) { random = SeededGenerator(seed: seed) }

    mutating func step() {
        now = now.advanced(by: .milliseconds(Int64(random.below(300))))
        if let deadline, deadline <= now { return fireDeadline() }
        switch random.below(14) {
        case 0: feed("appeared") { link, _ in link.appeared() }
        case 1:
            guard random.below(3) == 0 else { return }
            isAwaited = false
            feed("vanished") { link, _ in link.vanished() }
        case 2: if isHeld { feed("stopped") { $0.stopped(at: $1) } }
        case 3, 4, 5: answer()
        case 6:
            guard link.request != .open else { return }
            isAwaited = true
            feed("open") { link, _ in link.openRequested() }
        case 7:
            isAwaited = true
            feed("close") { link, _ in link.closeRequested() }
        case 8: feed("keep back") { link, _ in link.keepBack() }
        case 9: feed("resume") { link, _ in link.resume() }
        case 10:
            let isWanted = random.below(3) > 0
            feed("wanted \(isWanted)") { link, _ in (link.setOutputWanted(isWanted) ?? []) + link.performStep() }
        case 11: beginOutput()
        case 12: leave()
        default: fail()
        }
        check()
    }

    /// Everything promised happens.
    mutating func settle() {
        for _ in 0..<50 {
            answer()
            leave()
            if let deadline, user != .output { now = max(now, deadline) }
            fireDeadline()
            beginOutput()
        }
        if isAwaited { breach("a request never ended: \(link.state), \(link.request)") }
        let isOutputDue = link.isOutputWanted && !link.isKeptBack && link.isPresent && link.restsUntil == nil
        if link.request == .none, isOutputDue, link.user != .output { breach("nothing plays: \(link.state)") }
        if link.request == .none, !isOutputDue, user == nil, link.isInUse { breach("kept for nobody: \(link.state)") }
    }

    private mutating func fireDeadline() {
        guard let time = deadline, time <= now else { return }
        deadline = nil
        feed("deadline") { $0.deadlineReached(at: $1) }
    }

    private mutating func answer() {
        switch call {
        case nil: return
        case .release:
            call = nil
            feed("released") { link, _ in link.released() }
        case .acquire:
            call = nil
            if isCancelled {
                feed("cancelled") { $0.acquisitionFailed(isCancelled: true, at: $1) }
            } else if random.below(3) == 0 {
                feed("refused") { $0.acquisitionFailed(isCancelled: false, at: $1) }
            } else {
                isHeld = true
                let isSuspended = random.below(6) == 0
                feed("acquired \(!isSuspended)") { $0.acquired(isHeld: !isSuspended, at: $1) }
            }
        }
    }

    private mutating func beginOutput() {
        guard user == nil, link.beginOutput(at: now) else { return }
        log.append("taken: \(link.state)")
        user = .output
        if !isHeld || link.request == .open || link.isKeptBack { breach("played where nothing may be") }
    }

    private mutating func leave() {
        // The engine releases streams that may no longer play, and ended ones.
        guard let now = user, isEnding || now == .output && !link.mayPlay else { return }
        user = nil
        isEnding = false
        feed("left") { link, _ in link.streamLeft() }
    }

    private mutating func fail() {
        guard let user, !isEnding else { return }
        isEnding = true
        let end = random.below(2) == 0 ? MediaLink.End.byHeadset : .lost
        feed("failed") { $0.streamFailed(isRoute: user == .route, by: end, at: $1) }
    }

    private mutating func feed(_ what: String, _ input: (inout MediaLink, Instant) -> [MediaLink.Action]) {
        let actions = input(&link, now)
        log.append("\(now.nanoseconds / 1_000_000) \(what): \(link.state) \(link.request) \(actions)")
        pending += actions
        guard !isPerforming else { return }
        isPerforming = true
        while !pending.isEmpty { perform(pending.removeFirst()) }
        isPerforming = false
    }

    private mutating func perform(_ action: MediaLink.Action) {
        switch action {
        case .acquire:
            if call != nil || isHeld { breach("acquired twice") }
            call = .acquire
            isCancelled = false
        case .cancelAcquisition:
            if call == .acquire { isCancelled = true } else { breach("nothing is being acquired") }
        case .release:
            if call != nil || !isHeld || user != nil { breach("given back out of turn") }
            call = .release
            isHeld = false
        case .beginRoute:
            if user != nil || !isHeld { breach("begun without a stream") }
            if random.below(6) == 0 {
                feed("route refused") { link, _ in link.routeRefused() }
            } else {
                user = .route
                feed("route began") { link, _ in link.routeBegan() }
            }
        case .closeRoute: if user == .route { isEnding = true }
        case .report: isAwaited = false
        case .setDeadline(let time): deadline = time
        case .fault(let reason): breach("fault: \(reason)")
        case .streamsChanged, .lookAgain, .failure, .failureOver, .noteRefusal, .noteLoss, .changed: break
        }
    }

    private mutating func breach(_ what: String) {
        broken.append("\(what)\n" + log.suffix(14).joined(separator: "\n"))
    }

    private mutating func check() {
        if link.user != user { breach("the engine has it for \(String(describing: user))") }
        if (call != nil) != [.acquiring, .releasing].contains(Self.phase(link.state)) { breach("\(link.state) alone") }
    }

    private enum Phase { case acquiring, releasing, other }

    private static func phase(_ state: MediaLink.State) -> Phase {
        switch state {
        case .acquiring: .acquiring
        case .releasing: .releasing
        case .released, .held, .used: .other
        }
    }
}
