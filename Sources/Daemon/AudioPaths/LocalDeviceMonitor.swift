package import ControlLoop
package import Diagnostics
package import Routing

/// Finds out which configured local devices can be opened, and checks again when sound cards have come or gone.
@ControlPlane
package final class LocalDeviceMonitor {
    package private(set) var present: Set<LocalDevice> = []
    package let found = Signal<LocalDevice>()
    /// The card of an unused device has gone.
    package let losses = Signal<LocalDevice>()
    private let wanted: [LocalDevice]
    private let interval: Duration
    private let hasCardNotifications: Bool
    private let paths: any PathOpening
    private let problems: ProblemList
    private var timer: Timer?
    /// Devices whose card is missing.
    private var missing: Set<LocalDevice> = []
    /// Cards have come or gone while paused, or have never been checked.
    private var hasMissedChange = false
    /// Pauses all access to sound cards; pending checks run when it ends.
    package var isPaused: Bool {
        didSet {
            guard isPaused != oldValue else { return }
            if isPaused { return stop() }
            if hasMissedChange { cardsChanged(except: nil) } else { plan() }
        }
    }

    /// - Parameters:
    ///   - hasCardNotifications: `cardsChanged` is called, so that a missing card need not be polled.
    ///   - interval: between two checks of devices that are busy, or missing without notification.
    ///   - isPaused: starts paused.
    package init(
        wanted: Set<LocalDevice>, paths: any PathOpening, problems: ProblemList, hasCardNotifications: Bool = false,
        interval: Duration, isPaused: Bool = false
    ) {
        self.interval = interval
        self.isPaused = isPaused
        self.hasCardNotifications = hasCardNotifications
        self.wanted = LocalDevice.allCases.filter(wanted.contains)
        self.paths = paths
        self.problems = problems
        hasMissedChange = isPaused
        guard !isPaused else { return }
        for device in self.wanted { look(at: device) }
        plan()
    }

    package func stop() {
        timer?.cancel()
        timer = nil
    }

    /// The device failed while in use, or could not be opened.
    package func lost(_ error: PathError) {
        present.remove(error.device)
        note(error)
        plan()
    }

    /// Sound cards have come or gone.
    ///
    /// - Parameter used: device that is not checked; its own failure shows when it has gone.
    package func cardsChanged(except used: LocalDevice?) {
        hasMissedChange = isPaused
        guard !isPaused else { return }
        for device in wanted where present.contains(device) && device != used {
            // Another program may be using it: that is no loss before it is wanted.
            guard let error = paths.absence(of: device), error.cause == .missing else { continue }
            lost(error)
            losses.send(device)
        }
        lookAgain()
    }

    private func look(at device: LocalDevice) {
        if let error = paths.absence(of: device) {
            note(error)
        } else {
            present.insert(device)
            missing.remove(device)
            problems.end("device.\(device.rawValue)")
        }
    }

    private func note(_ error: PathError) {
        if error.cause == .missing { missing.insert(error.device) } else { missing.remove(error.device) }
        problems.begin(
            "device.\(error.device.rawValue)", what: "\(error.device.rawValue): \(error.what)", remedy: error.remedy)
    }

    private func plan() {
        let isAny = wanted.contains { !present.contains($0) && !(hasCardNotifications && missing.contains($0)) }
        guard timer == nil, isAny, !isPaused else { return }
        timer = ControlLoop.shared.schedule(after: interval) { [weak self] in self?.lookAgain() }
    }

    private func lookAgain() {
        timer?.cancel()
        timer = nil
        for device in wanted where !present.contains(device) {
            look(at: device)
            if present.contains(device) { found.send(device) }
        }
        plan()
    }
}
