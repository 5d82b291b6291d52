package import ControlLoop

/// Something of the board that is watched, with what it says now. Whoever holds it ends the watching by `close`.
@ControlPlane
package final class BoardContact<State: Equatable & Sendable> {
    package private(set) var state: State
    package var onChange: (@ControlPlane () -> Void)?
    /// Called once when it has gone: the card was pulled, the device was removed.
    package var onGone: (@ControlPlane () -> Void)?
    private var reread: (@ControlPlane () -> Void)?
    private var release: (@ControlPlane () -> Void)?

    /// - Parameters:
    ///   - reread: reads the hardware once more and reports.
    ///   - release: called once.
    package init(
        _ state: State, reread: @escaping @ControlPlane () -> Void, release: @escaping @ControlPlane () -> Void
    ) {
        self.state = state
        self.reread = reread
        self.release = release
    }

    /// For whoever watches the hardware.
    package func report(_ state: State) {
        guard state != self.state, release != nil else { return }
        self.state = state
        onChange?()
    }

    /// For whoever watches the hardware: there is nothing to watch any more.
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
