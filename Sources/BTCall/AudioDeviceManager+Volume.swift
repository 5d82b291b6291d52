import BTCallAPI
import ControlLoop
import DBus

extension AudioDeviceManager {
    /// Which of a headset's two volumes.
    public enum VolumeRole: String, Hashable, Sendable, CaseIterable {
        /// What the person hears.
        case speaker
        /// How loud the person is to the others.
        case microphone
    }

    /// Sets a volume of a connected headset. It is kept for the headset, over its connections and over restarts.
    ///
    /// - Parameters:
    ///   - volume: 0…15, where 15 is the loudest.
    ///   - headset: one headset, by its address.
    /// - Throws: `.invalidArgument` for another volume, one above the configured ceiling, or a device that is no headset;
    ///   `.unavailable` for a headset that is not connected.
    public func setVolume(
        _ volume: Int, of role: VolumeRole, on headset: DeviceChoice
    ) async throws(BridgeError) {
        guard let address = headset.word.address else {
            throw BridgeError(.invalidArgument, "\(headset) is not one headset; accepted: bluetooth:ADDRESS")
        }
        guard (0...15).contains(volume) else {
            throw BridgeError(.invalidArgument, "\(volume) is not a headset's volume; accepted: 0 to 15")
        }
        let property =
            switch role {
            case .speaker: BTCallName.Headset.speakerVolume
            case .microphone: BTCallName.Headset.microphoneVolume
            }
        do throws(BridgeError) {
            try await connection.setProperty(
                BTCallPath.headset(address), BTCallName.Interface.headset, property, .byte(UInt8(volume)))
        } catch {
            // A headset has an object while it is connected.
            throw error.code == .noSuchCall ? BridgeError(.unavailable, "\(address) is not connected") : error
        }
    }
}
