import ControlLoop
import DBus
import VideoPlan

/// A view that a client has set: it counts instead of that of the configuration.
@ControlPlane
final class RequestedView {
    let settings: ViewSettings
    /// Of the sink `descriptor`.
    let descriptor: PassedDescriptor?
    private var watch: Subscription?

    /// - Parameters:
    ///   - owner: unique bus name of the client.
    ///   - onEnd: called when the client leaves the bus, if the view has a descriptor.
    init(
        _ settings: ViewSettings, _ descriptor: PassedDescriptor?, of owner: String, on bus: BusConnection,
        onEnd: @escaping @ControlPlane () -> Void
    ) {
        self.settings = settings
        self.descriptor = descriptor
        guard descriptor != nil else { return }
        watch = bus.watchName(owner) { present in
            if present == nil { onEnd() }
        }
    }

    func end() {
        watch?.cancel()
        watch = nil
    }
}
