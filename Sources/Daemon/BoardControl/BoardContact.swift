package import ControlLoop

/// A watched part of the board with its present state. Its owner ends the watching by `close`.
@ControlPlane
package final class BoardContact<State: Equatable & Sendable> {
    package private(set) var state: State
    package var onChange: (@ControlPlane () -> Void)?
    /// Called once when it has gone: the card was pulled, the device was removed.
    package var onGone: (@ControlPlane () -> Void)?
    private var reread: (@ControlPlane () -> Void)?
    private var release: (@ControlPlane () -> Void)?

    /// - Parameters:
    ///   - reread: reads the hardware again and reports.
    ///   - release: called once.
    package init(
        _ state: State, reread: @escaping @ControlPlane () -> Void, release: @escaping @ControlPlane () -> Void
    ) {
        self.state = state
        self.reread = reread
        self.release = release
    }

    /// Reports a state; called by the part that watches the hardware.
    package func report(_ state: State) {
        guard state != self.state, release != nil else { return }
        self.state = state
        onChange?()
    }

    /// Reports that the hardware has gone; called by the part that watches it.
    package func vanish() {
        guard release != nil else { return }
        let handler = onGone
        close()
        handler?()
    }

    package func refresh() { reread?() }

    package func close() {
        let release = release
        self.release = nil
        reread = nil
        onChange = nil
        onGone = nil
        release?()
    }
}
