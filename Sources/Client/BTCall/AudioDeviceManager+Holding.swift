import BTCallAPI
import DBus

extension AudioDeviceManager {
    /// Moves the present or the next call to a device, as ``select(_:)`` does, until the hold is released.
    ///
    /// A later choice, by any program, outlives the hold.
    /// - Throws: `.notStarted`, or `.unavailable` when the device is not available.
    public func acquireSelection(_ device: DeviceChoice) async throws(BridgeError) -> Hold {
        let member = BTCallName.Router.acquireSelection
        return try Hold(await router(member, [.string(device.description), .vardict([:])]), of: member)
    }

    /// Takes the audio away from the calls, for another use, until the hold is released.
    ///
    /// - Parameters:
    ///   - source: a word for people: `page`, `alarm`.
    ///   - resuming: whether calls get their audio back afterwards. With several interruptions at once, all must ask for it.
    public func interrupt(source: String, resuming: Bool = true) async throws(BridgeError) -> Hold {
        let member = BTCallName.Router.interrupt
        let options: [String: Value] = ["resume": .bool(resuming)]
        return try Hold(await router(member, [.string(source), .vardict(options)]), of: member)
    }

    /// Sources of the interruptions that have the audio instead of the calls; empty when there are none.
    public func interruptions() async throws(BridgeError) -> [String] {
        let name = BTCallName.Router.interruptions
        let fields = try await connection.property(BTCallPath.router, BTCallName.Interface.router, name)
        return try decoding { () throws(APIError) in try fields.strings(name) }
    }
}
