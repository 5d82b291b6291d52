package import ControlLoop
package import Routing

/// Tells which of the configured local devices can be opened, and looks again for those that could not.
@ControlPlane
package final class LocalDeviceMonitor {
    package private(set) var present: Set<LocalDevice> = []
    package var onFound: (@ControlPlane (LocalDevice) -> Void)?
    private let wanted: [LocalDevice]
    private let interval: Duration
    private let paths: any PathOpening
    private let problems: ProblemList
    private var timer: Timer?

    /// - Parameter interval: between two looks at devices that are missing or busy.
    package init(wanted: Set<LocalDevice>, paths: any PathOpening, problems: ProblemList, interval: Duration) {
        self.interval = interval
        self.wanted = LocalDevice.allCases.filter(wanted.contains)
        self.paths = paths
        self.problems = problems
        for device in self.wanted { look(at: device) }
        plan()
    }

    package func stop() {
        timer?.cancel()
        timer = nil
    }

    /// The device failed while it was in use, or could not be opened.
    package func lost(_ error: PathError) {
        present.remove(error.device)
        note(error)
        plan()
    }

    private func look(at device: LocalDevice) {
        if let error = paths.absence(of: device) {
            note(error)
        } else {
            present.insert(device)
            problems.end("device.\(device.rawValue)")
        }
    }

    private func note(_ error: PathError) {
        problems.begin(
            "device.\(error.device.rawValue)", what: "\(error.device.rawValue): \(error.what)", remedy: error.remedy)
    }

    private func plan() {
        guard timer == nil, present.count < wanted.count else { return }
        timer = ControlLoop.shared.schedule(after: interval) { [weak self] in self?.lookAgain() }
    }

    private func lookAgain() {
        timer = nil
        for device in wanted where !present.contains(device) {
            look(at: device)
            if present.contains(device) { onFound?(device) }
        }
        plan()
    }
}
