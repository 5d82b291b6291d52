import BTCallAPI
import ControlLoop
package import DBus

// Figures for monitoring systems.
extension ManagerObject {
    package static func metricsMethods(_ text: @escaping @ControlPlane () -> String) -> [ExportedInterface.Method] {
        [
            .init(BTCallName.Manager.metrics, out: [("text", "s")], isReading: true) { _ async throws(BusError) in
                [.string(text())]
            }
        ]
    }
}
