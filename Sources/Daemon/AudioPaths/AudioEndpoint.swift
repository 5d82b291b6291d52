package import BluetoothTypes
package import Configuration
package import Routing

/// Place of a call's audio: the endpoints that the engine has terminals for.
package enum AudioEndpoint: Hashable, Sendable, CustomStringConvertible {
    case local(LocalDevice)
    case headset(BluetoothAddress)
    /// A device that plays beside the calls; never a route.
    case output(OutputDevice)

    package var description: String {
        switch self {
        case .local(let kind): "\(kind)"
        case .headset(let address): "bluetooth:\(address)"
        case .output(let device): "output:\(device)"
        }
    }
}
