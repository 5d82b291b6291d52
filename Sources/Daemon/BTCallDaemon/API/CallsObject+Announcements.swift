import BTCallAPI
import ControlLoop
package import DBus
import Telephony

// What is told of calls beside their states: that one comes in, and what the camera of one gives.
extension CallsObject {
    package var announcements: [ExportedInterface.SignalDescription] {
        [
            .init(BTCallName.Calls.incomingCall, [("call", "o"), ("properties", "a{sv}")]),
            .init(BTCallName.Calls.cameraSettingsChanged, [("call", "o"), ("settings", "a{sv}")]),
        ]
    }

    /// Once for each incoming call, after `CallAdded`.
    package func announceIncoming(_ record: CallRecord) {
        guard record.call.direction == .incoming else { return }
        emit(BTCallName.Calls.incomingCall, [.objectPath(record.path), .vardict(signalled(record.description))])
    }

    package static func cameraMethod(
        of record: CallRecord, _ calls: CallDirectory, _ bus: BusConnection
    ) -> ExportedInterface.Method {
        .init(BTCallName.Call.reportCamera, in: [("settings", "a{sv}")]) { call async throws(BusError) in
            try reply { () throws(APIError) in
                try calls.checkOwner(of: record, call.sender)
                let settings = try CameraDescription(Fields(argument(call, 0), of: "settings"))
                bus.emit(
                    path: BTCallPath.calls, interface: BTCallName.Interface.calls,
                    member: BTCallName.Calls.cameraSettingsChanged,
                    [.objectPath(record.path), .vardict(settings.fields)])
                return []
            }
        }
    }
}
