import AudioEngine
import AudioPaths
import BTCallDaemon
import BluetoothTypes
import BusObjects
import ControlLoop
import Diagnostics
import Logging
import Routing
import Testing

extension DaemonTests {
    @Suite @ControlPlane struct RouteControllerTests {
        /// Cards that cannot be opened, but record the attempts.
        private final class Cards: PathOpening {
            var onOpening: @ControlPlane () -> Void = {}

            func openPath(_ kind: LocalDevice) throws(PathError) -> OpenPath {
                onOpening()
                throw PathError(device: kind, what: "no card", remedy: "none")
            }

            func absence(of kind: LocalDevice) -> PathError? { nil }
        }

        @Test func `The audio is moved before anybody is notified`() throws {
            let cards = Cards()
            let logger = Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }
            let graph = try AudioGraph(engine: AudioEngine(), paths: cards, silentLimit: nil, logger: logger)
            defer { graph.close() }
            let router = RouteController(
                policy: RoutingPolicy(), graph: graph, recorder: FlightRecorder(version: "test"), logger: logger)
            router.handle(.start)
            router.handle(.setDefault(.earpiece))
            var course: [String] = []
            cards.onOpening = { course.append("opened") }
            router.notices.subscribe { notice in
                switch notice {
                case .routeChanged(let old, let new, let reason):
                    course.append("\(old?.description ?? "none") -> \(new?.description ?? "none"): \(reason.rawValue)")
                case .stateChanged: course.append("state")
                case .devicesChanged, .activationFailed, .refreshed: course.append("other")
                }
            }
            router.handle(.callOutgoing(call: "c", video: false, routes: nil))
            #expect(course == ["opened", "none -> earpiece: callStarted", "state"])
        }
    }
}
