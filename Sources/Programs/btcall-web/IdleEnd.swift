import ControlLoop

/// Ends a program that nobody has used for a while and that the service manager's sockets start again.
///
/// The sockets stay open at the service manager: a client that connects meanwhile waits for the start.
@ControlPlane
final class IdleEnd {
    /// Longer than a signature of a push is valid, and than a pushed call rings.
    static let usualTime: Duration = .seconds(300)

    private let time: Duration
    private let isUnused: @ControlPlane () -> Bool
    private let end: @ControlPlane () -> Void
    private var timer: Timer?

    init(
        after time: Duration, isUnused: @escaping @ControlPlane () -> Bool, _ end: @escaping @ControlPlane () -> Void
    ) {
        self.time = time
        self.isUnused = isUnused
        self.end = end
        changed()
    }

    /// Somebody has come or gone: the time begins again, and stands still while somebody is connected.
    func changed() {
        timer?.cancel()
        timer = nil
        guard isUnused() else { return }
        timer = ControlLoop.shared.schedule(after: time) { [weak self] in
            guard let self else { return }
            timer = nil
            end()
        }
    }
}
