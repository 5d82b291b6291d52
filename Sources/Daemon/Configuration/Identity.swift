/// Whose calls these are, and how applications want that shown. What is empty is not said.
package struct Identity: Equatable, Sendable {
    package var accountID = ""
    package var userID = ""
    /// What others call this box: the alias of its adapters, and the name of the network.
    package var displayName = ""
    /// What headsets show as the network, before `displayName`.
    package var localizedName = ""
    /// A WAV file to ring with, before that of `[ring]`.
    package var ringtoneSound = ""
    /// For clients that draw.
    package var iconFileName = ""

    package init() {}
}

extension Configuration {
    /// What a headset shows as the network's name (+COPS), as much of it as it has room for.
    package var networkName: String {
        if !identity.localizedName.isEmpty { return identity.localizedName }
        let isSet = operatorName != Configuration().operatorName
        return isSet || identity.displayName.isEmpty ? operatorName : identity.displayName
    }

    /// `[ring]` with the application's own sound.
    package var soundedRing: RingConfiguration {
        var sounded = ring
        if !identity.ringtoneSound.isEmpty { sounded.file = identity.ringtoneSound }
        return sounded
    }
}
