import Synchronization

/// Lets through, of the camera's pictures and the cards, what the far end may get now.
///
/// Once ``show(_:)`` has returned, no picture that the new mode does not allow is given any more.
final class PictureGate: Sendable {
    enum Mode: Hashable, Sendable {
        /// Nothing.
        case closed
        case card
        /// The camera; cards until its first picture, and while it stalls.
        case camera
    }

    private struct State {
        var mode = Mode.closed
        /// Numbers of the source whose pictures are given, and of the one that replaces it with its first picture; 0: none.
        var current = 0
        var next = 0
        var background: BackgroundStage?
        /// Whether a picture with the background has come since it was set.
        var isBackgrounded = false
        /// Whether pictures without it may be given until then.
        var mayShowRoom = false
        /// Whether the last picture that was given is the camera's, and recent.
        var isFlowing = false
        /// CLOCK_MONOTONIC in nanoseconds: when the source was started or gave a picture, and when one was given on.
        var seen: UInt64 = 0
        var given: UInt64 = 0
    }

    /// What a picture of the camera has changed.
    private enum News {
        case flowing
        case replaced(Int)
    }

    private let hub: FrameHub
    private let state = Mutex(State())
    /// The camera's pictures have begun to flow.
    private let onFlow: @Sendable () -> Void
    /// A source has replaced the one before.
    private let onReplacement: @Sendable (Int) -> Void

    init(
        _ hub: FrameHub, onFlow: @escaping @Sendable () -> Void, onReplacement: @escaping @Sendable (Int) -> Void
    ) {
        self.hub = hub
        self.onFlow = onFlow
        self.onReplacement = onReplacement
    }

    // MARK: The control plane

    func show(_ mode: Mode) {
        state.withLock { state in
            guard state.mode != mode else { return }
            state.mode = mode
            state.isFlowing = false
            state.mayShowRoom = false
        }
    }

    var isFlowing: Bool { state.withLock { $0.isFlowing } }
    var isBackgrounded: Bool { state.withLock { $0.background != nil && $0.isBackgrounded && $0.isFlowing } }

    /// - Parameter number: from 1; 0: none.
    func setSource(_ number: Int) { state.withLock { ($0.current, $0.next) = (number, 0) } }

    /// Replaces the source once this one has a picture; 0: no more.
    func setNext(_ number: Int) { state.withLock { $0.next = number } }

    /// Sends the camera's pictures through a stage, or no longer.
    ///
    /// One that is switched on while the camera's own picture is seen replaces it with its first picture.
    func setBackground(_ stage: BackgroundStage?) {
        state.withLock { state in
            state.mayShowRoom = stage != nil && state.background == nil && state.isFlowing
            state.background = stage
            state.isBackgrounded = false
            if stage != nil, !state.mayShowRoom { state.isFlowing = false }
        }
    }

    /// The background cannot be put behind the person: the room is not shown either.
    func hideRoom() {
        state.withLock { state in
            state.mayShowRoom = false
            if !state.isBackgrounded { state.isFlowing = false }
        }
    }

    /// Gives the card if it is its turn.
    func give(card: Picture, at nanoseconds: UInt64) {
        state.withLock { state in
            guard state.mode == .card || state.mode == .camera && !state.isFlowing else { return }
            hub.give(card, at: nanoseconds, isCard: true)
        }
    }

    /// Whether it is the card's turn.
    var needsCard: Bool { state.withLock { $0.mode == .card || $0.mode == .camera && !$0.isFlowing } }

    /// Notices that pictures do not flow any more: then it is the card's turn.
    ///
    /// - Returns: the time since the source gave a picture, in nanoseconds; nil without a source.
    func lookForStall(at nanoseconds: UInt64, after limit: UInt64) -> UInt64? {
        state.withLock { state in
            guard state.mode == .camera else { return nil }
            if Self.age(state.given, nanoseconds) > limit { state.isFlowing = false }
            return state.current == 0 ? nil : Self.age(state.seen, nanoseconds)
        }
    }

    private static func age(_ then: UInt64, _ now: UInt64) -> UInt64 { now > then ? now - then : 0 }

    /// A source starts now.
    func sourceStarts() {
        let now = Picture.now
        state.withLock { $0.seen = now }
    }

    // MARK: Threads of pipelines

    /// A picture of a source.
    func take(_ picture: Picture, of number: Int) {
        let now = Picture.now
        let news = state.withLock { state -> [News] in
            var news: [News] = []
            if number == state.next, number != 0 {
                (state.current, state.next) = (number, 0)
                news.append(.replaced(number))
            }
            guard number == state.current else { return news }
            state.seen = now
            guard state.mode == .camera else { return news }
            state.background?.take(picture)
            guard state.background == nil || state.mayShowRoom && !state.isBackgrounded else { return news }
            return news + give(picture, now, &state)
        }
        tell(news)
    }

    /// A picture that has come through the stage.
    func take(_ picture: Picture, from stage: BackgroundStage) {
        let now = Picture.now
        let news = state.withLock { state -> [News] in
            guard state.mode == .camera, state.background === stage else { return [] }
            state.isBackgrounded = true
            return give(picture, now, &state)
        }
        tell(news)
    }

    private func give(_ picture: Picture, _ now: UInt64, _ state: inout State) -> [News] {
        hub.give(picture, at: now, isCard: false)
        state.given = now
        defer { state.isFlowing = true }
        return state.isFlowing ? [] : [.flowing]
    }

    private func tell(_ news: [News]) {
        for item in news {
            switch item {
            case .flowing: onFlow()
            case .replaced(let number): onReplacement(number)
            }
        }
    }
}
