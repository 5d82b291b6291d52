import BTCallAPI
import ControlLoop
import DBus

/// Decides which device carries the live call: preferred, default, explicit choice, with a reason for everything.
public final class AudioDeviceManager: Sendable {
    let connection: BridgeConnection

    init(connection: BridgeConnection) {
        self.connection = connection
    }

    /// Lets the policy act. Preferences set before are kept and apply from here on; a second start changes nothing.
    public func start() async throws(BridgeError) {
        try await router(BTCallName.Router.start)
    }

    /// Leaves the audio to the system's own device, without ending the call.
    public func stop() async throws(BridgeError) {
        try await router(BTCallName.Router.stop)
    }

    /// All known devices, whether they are available or not.
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

    /// The explicit choice; else the preferred device; else what would be used.
    public func selectedAudioDevice() async throws(BridgeError) -> DeviceChoice {
        try await device(BTCallName.Router.selected)
    }

    /// The device that carries the call now; `.none` when no path is open.
    public func activeRoute() async throws(BridgeError) -> DeviceChoice {
        try await device(BTCallName.Router.activeRoute)
    }

    /// Sets the preferred device. It is used as soon as it is available, now or later, and is kept over restarts.
    public func setAudioDevice(_ device: DeviceChoice) async throws(BridgeError) {
        try await set(BTCallName.Router.preferred, device)
    }

    /// Sets the device to fall back to when the preferred one is not available. It is kept over restarts.
    public func setDefaultAudio(_ device: DeviceChoice) async throws(BridgeError) {
        try await set(BTCallName.Router.defaultDevice, device)
    }

    @available(*, deprecated, renamed: "setDefaultAudio")
    public func setDefaultDevice(_ device: DeviceChoice) async throws(BridgeError) {
        try await setDefaultAudio(device)
    }

    public func preferredAudioDevice() async throws(BridgeError) -> DeviceChoice {
        try await device(BTCallName.Router.preferred)
    }

    public func defaultAudioDevice() async throws(BridgeError) -> DeviceChoice {
        try await device(BTCallName.Router.defaultDevice)
    }

    /// Moves the present or the next call to a device, until the last call has ended.
    ///
    /// - Throws: `.notStarted`, or `.unavailable` when the device is not there.
    public func select(_ device: DeviceChoice) async throws(BridgeError) {
        try await router(BTCallName.Router.select, [.string(device.description)])
    }

    /// Takes back ``select(_:)``.
    public func clearSelection() async throws(BridgeError) {
        try await router(BTCallName.Router.clearSelection)
    }

    /// Sets the hardware of the active device again, after something else changed it.
    public func refreshSpeakerphoneSetting() async throws(BridgeError) {
        try await router(BTCallName.Router.refresh)
    }

    /// Why the audio is where it is.
    public func explain() async throws(BridgeError) -> RouteExplanation {
        try await explain([:])
    }

    /// Why the audio was where it was.
    ///
    /// - Parameter unixMilliseconds: since 1970-01-01 00:00 UTC.
    /// - Throws: `.invalidArgument` for a time that the daemon does not remember; the message has those that it does.
    public func explain(at unixMilliseconds: Int64) async throws(BridgeError) -> RouteExplanation {
        try await explain(["time": .int64(unixMilliseconds)])
    }

    /// What the daemon remembers of its routing, as a scenario file that `btcall-lab replay` and `BTCallSimulator` run.
    ///
    /// - Parameter includingAddresses: real Bluetooth addresses instead of others that sort in the same way.
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
