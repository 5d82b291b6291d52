package import ControlLoop

/// A ring tone's samples.
package struct RingTone: Equatable, Sendable {
    package let samples: [Int16]
    /// Whether the file is longer than a ring tone may be.
    package let isCut: Bool

    package init(samples: [Int16], isCut: Bool) {
        self.samples = samples
        self.isCut = isCut
    }
}

/// Reads ring tones outside the control loop: a file may be long, and its disk slow or gone.
///
/// Every request is answered within `timeout`. A file that takes longer is still read to its end, and no other file
/// meanwhile, so that at most one thread waits.
@ControlPlane
package final class RingToneReader {
    package nonisolated static let readTimeout = Duration.milliseconds(500)

    package typealias Outcome = Result<RingTone, RingFileError>
    /// Reads a file for a sample rate in Hz; called in another thread.
    package typealias Source = @Sendable (_ file: String, _ rate: Int) -> Outcome

    private let timeout: Duration
    private let source: Source
    private var file: String?
    private var waiters: [@ControlPlane (Outcome) -> Void] = []
    private var timer: Timer?

    package init(timeout: Duration = RingToneReader.readTimeout, source: @escaping Source) {
        self.timeout = timeout
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
        // Without a thread the file is read here and now.
        guard isStarted else { return then(source(file, rate)) }
        self.file = file
        waiters = [then]
        timer = ControlLoop.shared.schedule(after: timeout) { [weak self] in
            guard let self else { return }
            answer(.failure(RingFileError(what: "is not read within \(timeout)")))
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
