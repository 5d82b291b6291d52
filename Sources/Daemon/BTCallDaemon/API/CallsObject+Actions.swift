import BTCallAPI
import ControlLoop
package import DBus

// What is asked of several calls at once.
extension CallsObject {
    package static func actionMethods(_ calls: CallDirectory) -> [ExportedInterface.Method] {
        [
            .init(BTCallName.Calls.swap) { _ async throws(BusError) in
                try await asyncReply { () async throws(APIError) in try await calls.swap() }
            },
            .init(BTCallName.Calls.conference) { _ async throws(BusError) in
                try await asyncReply { () async throws(APIError) in try await calls.conference() }
            },
        ]
    }
}
