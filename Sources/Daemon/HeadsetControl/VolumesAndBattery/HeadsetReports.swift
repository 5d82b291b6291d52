package import HandsFree

/// What a headset reports about itself beside volumes and battery; nil until it does.
package struct HeadsetReports: Hashable, Sendable {
    /// The wearer has muted the microphone at the headset (AT+ANDROID=XHSMICMUTE).
    package var isMicrophoneMuted: Bool?
    /// AT+CSRPWR, and with AT+IPHONEACCEV and AT+XEVENT=BATTERY whether it charges.
    package var powerSource: AudioGateway.PowerSource?
    /// HF indicator 1: the headset's safety features are on.
    package var isSafetyEnhanced: Bool?

    package init() {}
}
