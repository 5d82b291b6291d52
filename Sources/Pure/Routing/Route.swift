package import BluetoothTypes

/// Profile that carries a call's audio to a headset (docs/inside/Routing.md §4).
package enum LinkMode: String, Hashable, Sendable, CaseIterable {
    /// Both directions over a synchronous connection.
    case hfp
    /// Output only; any microphone is the board's.
    case a2dp
}

/// A decision: the one device that carries the call, and how.
package enum Route: Hashable, Sendable {
    case local(LocalDevice)
    case headset(BluetoothAddress, LinkMode)

    /// The device in the user's terms; a headset always with its address.
    package var device: AudioDevice {
        switch self {
        case .local(let local): AudioDevice(local)
        case .headset(let address, _): .headset(address)
        }
    }

    package var address: BluetoothAddress? {
        switch self {
        case .local: nil
        case .headset(let address, _): address
        }
    }

    package var mode: LinkMode? {
        switch self {
        case .local: nil
        case .headset(_, let mode): mode
        }
    }

    package var local: LocalDevice? {
        switch self {
        case .local(let local): local
        case .headset: nil
        }
    }
}

extension Route: CustomStringConvertible {
    /// `earpiece`, `bluetooth:AA:BB:CC:DD:EE:FF (hfp)`
    package var description: String {
        switch self {
        case .local(let local): local.rawValue
        case .headset(let address, let mode): "bluetooth:\(address) (\(mode.rawValue))"
        }
    }
}

/// Where the far end is heard.
package enum AudioOutput: Hashable, Sendable, CustomStringConvertible {
    case none, speaker, earpiece, jack
    case sco(BluetoothAddress)
    case a2dp(BluetoothAddress)

    /// `none`, `speaker`, `earpiece`, `jack`, `sco:ADDRESS` or `a2dp:ADDRESS`
    package var description: String {
        switch self {
        case .none: "none"
        case .speaker: "speaker"
        case .earpiece: "earpiece"
        case .jack: "jack"
        case .sco(let address): "sco:\(address)"
        case .a2dp(let address): "a2dp:\(address)"
        }
    }
}

/// Where the user is heard.
package enum AudioInput: Hashable, Sendable, CustomStringConvertible {
    case none, builtinMic, jackMic
    case sco(BluetoothAddress)

    /// `none`, `builtinMic`, `jackMic` or `sco:ADDRESS`
    package var description: String {
        switch self {
        case .none: "none"
        case .builtinMic: "builtinMic"
        case .jackMic: "jackMic"
        case .sco(let address): "sco:\(address)"
        }
    }
}
