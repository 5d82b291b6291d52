package import BluetoothTypes
package import Routing

/// Where something is played that belongs to no call: the ringer, an announcement.
package enum OutputDevice: Hashable, Sendable, CustomStringConvertible {
    /// What the person hears of a local device.
    case local(LocalDevice)
    /// An ALSA device of its own.
    case pcm(String)
    /// A headset's A2DP; nil is the one that has it up and came last.
    case bluetooth(BluetoothAddress?)

    package var description: String {
        switch self {
        case .local(let kind): "\(kind)"
        case .pcm(let name): name
        case .bluetooth(let address): address.map { "bluetooth:\($0)" } ?? "bluetooth"
        }
    }

    /// A headset as the configuration names it: `bluetooth` or `bluetooth:ADDRESS`; nil for anything else.
    package init?(headset text: String) {
        switch AudioDevice(parsing: text) {
        case .bluetooth: self = .bluetooth(nil)
        case .headset(let address): self = .bluetooth(address)
        default: return nil
        }
    }
}
