import HeadsetPolicy

/// `[pairing]`: what the box itself has for pairing without a screen.
package struct PairingConfiguration: Equatable, Sendable {
    /// What opens a window when it is pressed, and closes it when it is pressed again; nil: only programs do.
    package var button: HookSpecification?
    /// What shows people that one is open; nil: nothing.
    package var light: PrivacyOutputSpecification?
    /// How long a window of the button is open.
    package var seconds = PairingRules.usualSeconds
    /// Whom it is for: addresses and patterns of names; empty: any audio device.
    package var allow: [String] = []

    package init() {}
}
