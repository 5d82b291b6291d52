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
        /// What the person hears over A2DP: announcements, and calls without the headset's microphone.
        case media

        /// The loudest.
        public var highest: Int { self == .media ? 127 : 15 }
    }

    /// Sets a volume of a connected headset. It is kept for the headset, over its connections and over restarts.
    ///
    /// - Parameters:
    ///   - volume: 0…15, for `media` 0…127, where the highest is the loudest.
    ///   - headset: one headset, by its address.
    /// - Throws: `.invalidArgument` for another volume, one above the configured ceiling, or a device that is no headset;
    ///   `.unavailable` for a headset that is not connected, or whose volume of A2DP cannot be set.
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
            // A headset has an object while it is paired.
            throw error.code == .noSuchCall ? BridgeError(.unavailable, "\(address) is not paired") : error
        }
    }
}
