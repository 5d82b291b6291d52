package import DBus

/// The properties of `Router1`.
package struct RouterState: Hashable, Sendable {
    package var isStarted: Bool
    package var preferred: DeviceWord
    package var defaultDevice: DeviceWord
    /// The preferred device that the present one replaced while there was no default; `.none` otherwise.
    package var replacedPreference: DeviceWord
    package var selected: DeviceWord
    /// The device that carries the call; `.none` when no path is open.
    package var activeRoute: DeviceWord
    /// The device whose link is being set up.
    package var pending: DeviceWord
    /// `hfp` or `a2dp`; nil on local devices and without a path.
    package var mode: String?
    /// The codec of the open link; nil without one.
    package var codec: String?
    /// Why the route last changed, a word of the policy; nil before any change.
    package var reason: String?
    package var devices: [DeviceDescription]
    /// Sources of the interruptions that have the audio instead of the calls; empty when there are none.
    package var interruptions: [String]

    package init(
        isStarted: Bool = false, preferred: DeviceWord = .none, defaultDevice: DeviceWord = .none,
        selected: DeviceWord = .none, activeRoute: DeviceWord = .none, pending: DeviceWord = .none, mode: String? = nil,
        codec: String? = nil, reason: String? = nil, devices: [DeviceDescription] = [],
        interruptions: [String] = [], replacedPreference: DeviceWord = .none
    ) {
        self.replacedPreference = replacedPreference
        self.isStarted = isStarted
        self.preferred = preferred
        self.defaultDevice = defaultDevice
        self.selected = selected
        self.activeRoute = activeRoute
        self.pending = pending
        self.mode = mode
        self.codec = codec
        self.reason = reason
        self.devices = devices
        self.interruptions = interruptions
    }

    package init(_ fields: Fields) throws(APIError) {
        isStarted = try fields.bool(BTCallName.Router.started)
        preferred = try fields.device(BTCallName.Router.preferred)
        defaultDevice = try fields.device(BTCallName.Router.defaultDevice)
        replacedPreference = try fields.optionalDevice(BTCallName.Router.replacedPreference) ?? .none
        selected = try fields.device(BTCallName.Router.selected)
        activeRoute = try fields.device(BTCallName.Router.activeRoute)
        pending = try fields.device(BTCallName.Router.pending)
        mode = try fields.optionalString(BTCallName.Router.mode)?.nonEmpty
        codec = try fields.optionalString(BTCallName.Router.codec)?.nonEmpty
        reason = try fields.optionalString(BTCallName.Router.reason)?.nonEmpty
        devices = []
        for element in try fields.dictionaries(BTCallName.Router.devices) {
            devices.append(try DeviceDescription(element))
        }
        interruptions = try fields.strings(BTCallName.Router.interruptions)
    }

    /// All properties by name.
    package var properties: [String: Value] {
        [
            BTCallName.Router.started: .bool(isStarted),
            BTCallName.Router.preferred: .string(preferred.description),
            BTCallName.Router.defaultDevice: .string(defaultDevice.description),
            BTCallName.Router.replacedPreference: .string(replacedPreference.description),
            BTCallName.Router.selected: .string(selected.description),
            BTCallName.Router.activeRoute: .string(activeRoute.description),
            BTCallName.Router.pending: .string(pending.description),
            BTCallName.Router.mode: .string(mode ?? ""),
            BTCallName.Router.codec: .string(codec ?? ""),
            BTCallName.Router.reason: .string(reason ?? ""),
            BTCallName.Router.devices: .vardicts(devices.map(\.fields)),
            BTCallName.Router.interruptions: .strings(interruptions),
        ]
    }
}
