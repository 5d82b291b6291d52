import Synchronization
import VideoPlan

/// Puts another background behind the foreground of each picture, one picture at a time.
///
/// The foreground is found by a pipeline (`PipelinePlan.mask`) on a thread of its own. Pictures that come meanwhile are left
/// out: a slow machine then has fewer pictures, none of them without the background.
final class BackgroundStage: Sendable {
    private struct State {
        var pipeline: Pipeline?
        /// The picture whose foreground is being looked for, and since when.
        var pending: Picture?
        var since: UInt64 = 0
    }

    /// A mask that has not come in this time does not come.
    private static let timeout: UInt64 = 1_000_000_000

    /// Nil: the picture itself, blurred.
    private let behind: Picture?
    private let state = Mutex(State())
    private let output: @Sendable (Picture, BackgroundStage) -> Void

    init(behind: Picture?, _ output: @escaping @Sendable (Picture, BackgroundStage) -> Void) {
        self.behind = behind
        self.output = output
    }

    /// The pipeline that finds the foreground while it runs.
    func use(_ pipeline: Pipeline?) {
        // Dropped outside of the lock.
        let old = state.withLock { state in
            defer { (state.pipeline, state.pending) = (pipeline, nil) }
            return state.pipeline
        }
        _ = old
    }

    func take(_ picture: Picture) {
        let now = Picture.now
        let pipeline = state.withLock { state -> Pipeline? in
            if state.pending != nil, now - min(now, state.since) < Self.timeout { return nil }
            (state.pending, state.since) = (picture, now)
            return state.pipeline
        }
        pipeline?.give(picture, to: PipelinePlan.input)
    }

    /// The foreground of the pending picture.
    func take(mask: Picture) {
        let pending = state.withLock { state -> Picture? in
            defer { state.pending = nil }
            return state.pending
        }
        guard let pending, let behind = behind ?? pending.blurred(),
            let result = pending.inFront(of: behind, by: mask)
        else { return }
        output(result, self)
    }
}
