import BluetoothTypes

/// An explicit choice for the current or next group of calls; in the specification, the override.
struct DeviceChoice: Hashable, Sendable {
    enum Device: Hashable, Sendable {
        case device(AudioDevice)
        /// Away from the headset: the default if that is local, else the best local device.
        case local
    }

    enum Origin: String, Hashable, Sendable {
        case selection, headsetButton, headsetTransfer, handset

        /// How the choice was made, for the explanation.
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

    /// The form in which the choice was given; `local` for a transfer away from a headset.
    var text: String {
        switch device {
        case .device(let device): device.description
        case .local: "local"
        }
    }
}

/// One call, as far as routing is concerned.
struct RoutingCall: Hashable, Sendable {
    enum State: String, Hashable, Sendable {
        case ringing, dialing, active, held
    }

    let identifier: String
    var state: State
    var video: Bool
    /// The device kinds that the call supports; nil is all.
    let routes: [DeviceKind]?
    /// Its in-band ring was declined by the headset.
    var isInbandRingDeclined = false
    /// Its audio is sent.
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
