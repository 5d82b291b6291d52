import BTCallAPI
import DBus

extension CallBridge {
    /// Tells btcalld whether this program captures with a camera now: the privacy light (`[privacy] led`) covers cameras, too.
    ///
    /// A report holds until the program takes it back or ``close()``; report again when btcalld has been restarted.
    /// btcall-video reports its own captures.
    ///
    /// - Throws: `.wrongState` if too many programs report.
    public func reportCameraUse(_ isInUse: Bool) async throws(BridgeError) {
        try await connection.request(
            BTCallPath.manager, BTCallName.Interface.manager, BTCallName.Manager.reportCameraUse, [.bool(isInUse)])
    }

    /// Whether a program captures with a camera, by ``reportCameraUse(_:)``.
    public func isCameraInUse() async throws(BridgeError) -> Bool {
        let name = BTCallName.Manager.cameraInUse
        let fields = try await connection.property(BTCallPath.manager, BTCallName.Interface.manager, name)
        return try decoding { () throws(APIError) in try fields.bool(name) }
    }
}
