import HeadsetPolicy

/// `[pairing]`: the box's own button and light for pairing without a screen.
package struct PairingConfiguration: Equatable, Sendable {
    /// The button that opens a window, and closes it when pressed again; nil: only programs do.
    package var button: HookSpecification?
    /// The light that shows an open window; nil: none.
    package var light: PrivacyOutputSpecification?
    /// How long the button's window stays open, in seconds.
    package var seconds = PairingRules.usualSeconds
    /// Headsets that it accepts: addresses and name patterns; empty: any audio device.
    package var allow: [String] = []

    package init() {}
}
