import BluetoothTypes

/// An explicit choice for the current or next group of calls.
struct DeviceChoice: Hashable, Sendable {
    enum Device: Hashable, Sendable {
        case device(AudioDevice)
        /// Away from the headset: the default if that is local, otherwise the best local device.
        case local
    }

    enum Origin: String, Hashable, Sendable {
        case selection, headsetButton, headsetTransfer, handset

        /// Origin of the choice, for the explanation.
        func text(_ device: Device) -> String {
            switch (self, device) {
            case (.selection, _): "selected"
            case (.headsetButton, _): "answered with the headset button"
            case (.headsetTransfer, .local): "user moved audio to local with the headset button"
            case (.headsetTransfer, .device): "user moved audio to the headset with its button"
            case (.handset, _): "handset lifted"
            }
        }
    }

    let device: Device
    let origin: Origin
    /// Orders choices and plugs.
    let sequence: Int
    let madeAt: Instant
    /// Headsets that are not used automatically and that `bluetooth` nevertheless names.
    var others: [BluetoothAddress] = []

    /// The choice in its original form; `local` for a transfer away from a headset.
    var text: String {
        switch device {
        case .device(let device): device.description
        case .local: "local"
        }
    }
}

/// Routing-related facts of one call.
struct RoutingCall: Hashable, Sendable {
    enum State: String, Hashable, Sendable {
        case ringing, dialing, active, held
    }

    let identifier: String
    var state: State
    var video: Bool
    /// Device kinds that the call supports; nil for all.
    var routes: [DeviceKind]?
    /// The headsets that closed its in-band link.
    var inbandRingDeclinedBy: [BluetoothAddress] = []
    /// The call sends audio.
    var wantsMicrophone = true

    func supports(_ kind: DeviceKind) -> Bool {
        routes?.contains(kind) ?? true
    }

    var isForeground: Bool {
        switch state {
        case .dialing, .active: true
        case .ringing, .held: false
        }
    }
}
