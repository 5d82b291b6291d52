import BTCallAPI
import ControlLoop
import DBus

extension AudioDeviceManager {
    /// A headset's volumes.
    public enum VolumeRole: String, Hashable, Sendable, CaseIterable {
        /// Loudness of the calls in the headset.
        case speaker
        /// Loudness of the person for the far end.
        case microphone
        /// Loudness of A2DP: announcements, and calls without the headset's microphone.
        case media

        /// The highest value.
        public var highest: Int { self == .media ? 127 : 15 }
    }

    /// Sets a volume of a connected headset. Kept for the headset, over its connections and over restarts.
    ///
    /// - Parameters:
    ///   - volume: 0…15, for `media` 0…127; the highest is the loudest.
    ///   - headset: one headset, by its address.
    /// - Throws: `.invalidArgument` for a volume out of range or above the configured ceiling, or a device that is not a
    ///   headset; `.unavailable` when the headset is not connected, or its A2DP volume cannot be set.
    public func setVolume(
        _ volume: Int, of role: VolumeRole, on headset: DeviceChoice
    ) async throws(BridgeError) {
        guard let address = headset.word.address else {
            throw BridgeError(.invalidArgument, "\(headset) is not one headset; accepted: bluetooth:ADDRESS")
        }
        guard (0...role.highest).contains(volume) else {
            throw BridgeError(.invalidArgument, "\(volume) is not a headset's volume; accepted: 0 to \(role.highest)")
        }
        let (property, value): (String, Value) =
            switch role {
            case .speaker: (BTCallName.Headset.speakerVolume, .byte(UInt8(volume)))
            case .microphone: (BTCallName.Headset.microphoneVolume, .byte(UInt8(volume)))
            case .media: (BTCallName.Headset.mediaVolume, .int32(Int32(volume)))
            }
        do throws(BridgeError) {
            try await connection.setProperty(
                BTCallPath.headset(address), BTCallName.Interface.headset, property, value)
        } catch {
            // A headset has an object only while it is paired.
            throw error.code == .noSuchCall ? BridgeError(.unavailable, "\(address) is not paired") : error
        }
    }
}
