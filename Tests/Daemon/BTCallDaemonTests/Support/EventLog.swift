import BTCall
import ControlLoop

/// Every event of a library bridge from now on.
@ControlPlane
final class EventLog {
    private let log: StreamLog<BridgeEvent>

    init(_ bridge: CallBridge) async { log = StreamLog(await bridge.events()) }

    var all: [BridgeEvent] { log.elements }

    /// The route changes: `none earpiece callStarted`.
    var routes: [String] {
        all.compactMap { event in
            if case .routeChanged(let old, let new, let reason) = event { "\(old) \(new) \(reason)" } else { nil }
        }
    }

    /// The last list of devices; nil before any change.
    var devices: [AudioDevice]? {
        all.lazy.reversed().compactMap { if case .devicesChanged(let devices) = $0 { devices } else { nil } }.first
    }
}
