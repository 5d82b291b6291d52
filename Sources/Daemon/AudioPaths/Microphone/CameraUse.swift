package import BTCallAPI
package import ControlLoop
package import DBus
package import Logging

/// Programs that capture with a camera, by their own reports: the privacy output covers cameras, too.
@ControlPlane
package final class CameraUse {
    /// Whether a camera is in use has changed.
    package let changes = Signal<Void>()
    private let bus: BusConnection
    private let logger: Logger
    /// The reporting programs by unique bus name. A program that leaves the bus captures no more.
    private var programs: [String: Subscription] = [:]
    private static let most = 32

    package init(bus: BusConnection, logger: Logger) {
        self.bus = bus
        self.logger = logger
    }

    package var isInUse: Bool { !programs.isEmpty }

    /// - Parameter busName: the reporting program.
    /// - Throws: `wrongState` if too many programs report.
    package func report(_ isInUse: Bool, by busName: String) throws(APIError) {
        guard isInUse else { return remove(busName) }
        guard programs[busName] == nil else { return }
        guard programs.count < Self.most else {
            throw APIError(.wrongState, "\(Self.most) programs report a camera in use already: end one of them first")
        }
        let wasInUse = self.isInUse
        programs[busName] = bus.watchName(busName) { [weak self] owner in
            if owner == nil { self?.remove(busName) }
        }
        if !wasInUse { announce() }
    }

    private func remove(_ busName: String) {
        guard let watch = programs.removeValue(forKey: busName) else { return }
        watch.cancel()
        if !isInUse { announce() }
    }

    private func announce() {
        logger.info("a camera is \(isInUse ? "in use" : "no longer in use")")
        changes.send()
    }
}
