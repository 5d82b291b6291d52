import BTCallAPI
import ControlLoop
import DBus

/// Chooses the device that carries the live call (preferred, default or explicit choice) and explains each choice.
///
/// It is part of a ``CallBridge``. For events of the route, use ``CallBridge/events()``.
public final class AudioDeviceManager: Sendable {
    let connection: BridgeConnection

    init(connection: BridgeConnection) {
        self.connection = connection
    }

    /// Lets the policy act. Preferences set earlier apply from now on; a second start changes nothing.
    public func start() async throws(BridgeError) {
        try await router(BTCallName.Router.start)
    }

    /// Leaves the audio to the system's own device without ending the call.
    public func stop() async throws(BridgeError) {
        try await router(BTCallName.Router.stop)
    }

    /// All known devices, available or not.
    public func audioDevices() async throws(BridgeError) -> [AudioDevice] {
        let fields = try await connection.property(
            BTCallPath.router, BTCallName.Interface.router, BTCallName.Router.devices)
        return try decoding { () throws(APIError) in
            var devices: [AudioDevice] = []
            for element in try fields.dictionaries(BTCallName.Router.devices) {
                devices.append(AudioDevice(try DeviceDescription(element)))
            }
            return devices
        }
    }

    /// The known devices that are available now, or those that are not.
    public func audioDevices(available: Bool) async throws(BridgeError) -> [AudioDevice] {
        try await audioDevices().filter { $0.isAvailable == available }
    }

    /// The explicit choice; otherwise the preferred device; otherwise the device that would be used.
    public func selectedAudioDevice() async throws(BridgeError) -> DeviceChoice {
        try await device(BTCallName.Router.selected)
    }

    /// The device that carries the call now; `.none` when no path is open.
    public func activeRoute() async throws(BridgeError) -> DeviceChoice {
        try await device(BTCallName.Router.activeRoute)
    }

    /// Sets the preferred device. btcalld uses it whenever it is available. Kept over restarts.
    public func setAudioDevice(_ device: DeviceChoice) async throws(BridgeError) {
        try await set(BTCallName.Router.preferred, device)
    }

    /// Sets the device to use while the preferred one is not available. Kept over restarts.
    public func setDefaultAudio(_ device: DeviceChoice) async throws(BridgeError) {
        try await set(BTCallName.Router.defaultDevice, device)
    }

    @available(*, deprecated, renamed: "setDefaultAudio")
    public func setDefaultDevice(_ device: DeviceChoice) async throws(BridgeError) {
        try await setDefaultAudio(device)
    }

    /// The preferred device; `.none` when none is set.
    public func preferredAudioDevice() async throws(BridgeError) -> DeviceChoice {
        try await device(BTCallName.Router.preferred)
    }

    /// The device for times when the preferred one is not available; `.none` for the order of the platform.
    public func defaultAudioDevice() async throws(BridgeError) -> DeviceChoice {
        try await device(BTCallName.Router.defaultDevice)
    }

    /// Moves the present or the next call to a device, until the last call has ended.
    ///
    /// - Throws: `.notStarted`, or `.unavailable` when the device is not available, does not fit the call, or is `.none`.
    public func select(_ device: DeviceChoice) async throws(BridgeError) {
        try await router(BTCallName.Router.select, [.string(device.description)])
    }

    /// Withdraws ``select(_:)``.
    public func clearSelection() async throws(BridgeError) {
        try await router(BTCallName.Router.clearSelection)
    }

    /// Sets the hardware of the active device again, after another program has changed it.
    public func refreshSpeakerphoneSetting() async throws(BridgeError) {
        try await router(BTCallName.Router.refresh)
    }

    /// Explains the present route.
    public func explain() async throws(BridgeError) -> RouteExplanation {
        try await explain([:])
    }

    /// Explains the route at an earlier time.
    ///
    /// - Parameter unixMilliseconds: since 1970-01-01 00:00 UTC.
    /// - Throws: `.invalidArgument` for a time outside the daemon's record; the message gives the range of the record.
    public func explain(at unixMilliseconds: Int64) async throws(BridgeError) -> RouteExplanation {
        try await explain(["time": .int64(unixMilliseconds)])
    }

    /// The daemon's record of its routing, as a scenario file that `btcall-lab replay` and `BTCallSimulator` run.
    ///
    /// - Parameter includingAddresses: true for real Bluetooth addresses; false for replacements that sort in the same
    ///   order.
    /// - Throws: `.wrongState` before the first routing event.
    public func incident(includingAddresses: Bool = false) async throws(BridgeError) -> String {
        let options: [String: Value] = ["addresses": .bool(includingAddresses)]
        return try await router(BTCallName.Router.incident, [.vardict(options)]).first?.stringValue ?? ""
    }

    private func explain(_ options: [String: Value]) async throws(BridgeError) -> RouteExplanation {
        let reply = try await router(BTCallName.Router.explain, [.vardict(options)])
        let fields = try await connection.fields(reply.first, of: BTCallName.Router.explain)
        return try decoding { () throws(APIError) in RouteExplanation(try ExplanationDescription(fields)) }
    }

    @discardableResult
    func router(_ member: String, _ arguments: [Value] = []) async throws(BridgeError) -> [Value] {
        try await connection.request(BTCallPath.router, BTCallName.Interface.router, member, arguments)
    }

    private func device(_ property: String) async throws(BridgeError) -> DeviceChoice {
        let fields = try await connection.property(BTCallPath.router, BTCallName.Interface.router, property)
        return try decoding { () throws(APIError) in DeviceChoice(word: try fields.device(property)) }
    }

    private func set(_ property: String, _ device: DeviceChoice) async throws(BridgeError) {
        try await connection.setProperty(
            BTCallPath.router, BTCallName.Interface.router, property, .string(device.description))
    }
}
