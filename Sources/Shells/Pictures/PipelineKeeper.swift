import BluetoothTypes
package import ControlLoop
package import VideoPlan

/// Keeps a pipeline running as it is wanted: starts it, replaces it, and starts it again some time after it has failed.
///
/// Starting and stopping may block on a device, and so are done in a thread beside the control plane, one at a time.
@ControlPlane
package final class PipelineKeeper {
    package enum State: Equatable, Sendable {
        case idle
        case starting
        case running
        /// It is started again later.
        case failed(PictureError)
    }

    /// Pauses before it is started again, the last one repeatedly.
    private static let pauses: [Duration] = [.seconds(1), .seconds(2), .seconds(5), .seconds(10), .seconds(30)]
    /// After this time of running a failure is the first one again.
    private static let soundAfter = Duration.seconds(60)

    private struct Running {
        let plan: PipelinePlan
        let pipeline: Pipeline
        let since: Instant
        /// Distinguishes its failure from an earlier one's.
        let number: Int
    }

    package private(set) var state = State.idle
    /// Called after each change of ``state``.
    package var onChange: (@ControlPlane (PipelineKeeper) -> Void)?
    private let picture: Pipeline.Handler?
    private var wanted: PipelinePlan?
    private var running: Running?
    /// Whether a thread starts or stops a pipeline now.
    private var isBusy = false
    private var number = 0
    /// Failure of a pipeline whose start has not come back.
    private var early: PictureError?
    private var failures = 0
    private var pause: Timer?
    private var waiters: [CheckedContinuation<Void, Never>] = []

    /// - Parameter picture: gets the pictures of its output, on a thread of the pipeline.
    package init(picture: Pipeline.Handler? = nil) {
        self.picture = picture
    }

    /// The pipeline while it runs.
    package var pipeline: Pipeline? { state == .running ? running?.pipeline : nil }
    package var plan: PipelinePlan? { wanted }

    /// Nil: none. A failed one is tried again at once with another plan only.
    package func want(_ plan: PipelinePlan?) {
        guard plan != wanted else { return }
        wanted = plan
        failures = 0
        endPause()
        step()
    }

    /// Starts it again at once: it gives no pictures, or what it lacked has come.
    package func restart() {
        guard wanted != nil else { return }
        endPause()
        if let running { stop(running) } else { step() }
    }

    /// Returns once nothing of it runs. Nothing may be wanted.
    package func idle() async {
        guard isBusy || running != nil else { return }
        await withCheckedContinuation { waiters.append($0) }
    }

    // MARK: Steps

    private func step() {
        guard !isBusy else { return }
        if let running {
            if running.plan != wanted { stop(running) }
            return
        }
        if let wanted {
            if pause == nil { start(wanted) }
            return
        }
        change(.idle)
        let waiting = waiters
        waiters = []
        for waiter in waiting { waiter.resume() }
    }

    private func start(_ plan: PipelinePlan) {
        isBusy = true
        number += 1
        early = nil
        let (number, picture) = (number, picture)
        change(.starting)
        let failure: @Sendable (String) -> Void = { [weak self] reason in
            Task { @ControlPlane in self?.failed(number, .failed(reason)) }
        }
        beside { () -> Result<Pipeline, PictureError> in
            do throws(PictureError) {
                return .success(try Pipeline.start(plan, picture: picture, failure: failure))
            } catch {
                return .failure(error)
            }
        } then: { [self] result in
            isBusy = false
            switch result {
            case .success(let pipeline):
                running = Running(plan: plan, pipeline: pipeline, since: ControlLoop.now, number: number)
                if let early { return failed(number, early) }
                // It is not wanted any more if another one was asked for meanwhile.
                if plan == wanted { change(.running) }
                step()
            case .failure(let error):
                rest(after: error, of: plan)
            }
        }
    }

    private func stop(_ stopped: Running) {
        guard !isBusy else { return }
        isBusy = true
        running = nil
        change(wanted == nil ? .idle : .starting)
        beside {
            stopped.pipeline.stop()
        } then: { [self] _ in
            isBusy = false
            step()
        }
    }

    /// A running pipeline has failed.
    private func failed(_ number: Int, _ error: PictureError) {
        guard let failed = running, failed.number == number else {
            // It has failed before its start has come back.
            if isBusy, number == self.number { early = error }
            return
        }
        if failed.since.duration(to: ControlLoop.now) >= Self.soundAfter { failures = 0 }
        running = nil
        isBusy = true
        if failed.plan == wanted { change(.failed(error)) }
        beside {
            failed.pipeline.stop()
        } then: { [self] _ in
            isBusy = false
            rest(after: error, of: failed.plan)
        }
    }

    /// Waits before the next attempt, unless something else is wanted now.
    private func rest(after error: PictureError, of plan: PipelinePlan) {
        guard plan == wanted else { return step() }
        let length = Self.pauses[min(failures, Self.pauses.count - 1)]
        failures += 1
        pause = ControlLoop.shared.schedule(after: length) { [weak self] in
            self?.pause = nil
            self?.step()
        }
        change(.failed(error))
    }

    private func endPause() {
        pause?.cancel()
        pause = nil
    }

    private func change(_ new: State) {
        guard new != state else { return }
        state = new
        onChange?(self)
    }

    private func beside<Outcome: Sendable>(
        _ work: @escaping @Sendable () -> Outcome, then: @escaping @ControlPlane (Outcome) -> Void
    ) {
        // Without a thread it blocks the control plane, but is done.
        if !ControlLoop.runBeside("btcall-picture", work, then: then) {
            let outcome = work()
            ControlLoop.shared.perform { then(outcome) }
        }
    }
}
