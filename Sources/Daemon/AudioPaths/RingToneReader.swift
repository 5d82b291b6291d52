package import ControlLoop

/// A ring tone as it is played.
package struct RingTone: Equatable, Sendable {
    package let samples: [Int16]
    /// The file is longer than a ring tone may be.
    package let isCut: Bool

    package init(samples: [Int16], isCut: Bool) {
        self.samples = samples
        self.isCut = isCut
    }
}

/// Reads ring tones beside the control loop: a file may be long, and its disk slow or gone.
///
/// Whoever asks gets an answer within `patience`; a file that takes longer is read to its end all the same, and nothing else
/// meanwhile, so that no more than one thread ever waits.
@ControlPlane
package final class RingToneReader {
    package nonisolated static let patience = Duration.milliseconds(500)

    package typealias Outcome = Result<RingTone, RingFileError>
    /// Reads a file for a rate in frames per second; called in another thread.
    package typealias Source = @Sendable (_ file: String, _ rate: Int) -> Outcome

    private let patience: Duration
    private let source: Source
    private var file: String?
    private var waiters: [@ControlPlane (Outcome) -> Void] = []
    private var timer: Timer?

    package init(patience: Duration = RingToneReader.patience, source: @escaping Source) {
        self.patience = patience
        self.source = source
    }

    /// Reads a file.
    ///
    /// - Parameter then: called once, perhaps before this returns.
    package func read(_ file: String, atRate rate: Int, _ then: @escaping @ControlPlane (Outcome) -> Void) {
        if let reading = self.file {
            guard reading == file, timer != nil else {
                return then(.failure(RingFileError(what: "is not read while \(reading) still is")))
            }
            return waiters.append(then)
        }
        let source = source
        let isStarted = ControlLoop.runBeside(
            "btcall-tone", { source(file, rate) },
            then: { [weak self] outcome in
                self?.file = nil
                self?.answer(outcome)
            })
        // Without a thread to be had it is read here and now.
        guard isStarted else { return then(source(file, rate)) }
        self.file = file
        waiters = [then]
        timer = ControlLoop.shared.schedule(after: patience) { [weak self] in
            guard let self else { return }
            answer(.failure(RingFileError(what: "is not read within \(patience)")))
        }
    }

    private func answer(_ outcome: Outcome) {
        timer?.cancel()
        timer = nil
        let waiting = waiters
        waiters = []
        for waiter in waiting { waiter(outcome) }
    }
}
