package import BluetoothTypes
package import Routing

/// A device that plays audio outside calls: the ringer, an announcement.
package enum OutputDevice: Hashable, Sendable, CustomStringConvertible {
    /// The playback of a local device.
    case local(LocalDevice)
    /// A separate ALSA device.
    case pcm(String)
    /// A headset's A2DP; nil: the headset with A2DP connected that connected last.
    case bluetooth(BluetoothAddress?)

    package var description: String {
        switch self {
        case .local(let kind): "\(kind)"
        case .pcm(let name): name
        case .bluetooth(let address): address.map { "bluetooth:\($0)" } ?? "bluetooth"
        }
    }

    /// A headset as named in the configuration: `bluetooth` or `bluetooth:ADDRESS`; nil for anything else.
    package init?(headset text: String) {
        switch AudioDevice(parsing: text) {
        case .bluetooth: self = .bluetooth(nil)
        case .headset(let address): self = .bluetooth(address)
        default: return nil
        }
    }
}
