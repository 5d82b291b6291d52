/// Account, user and names of the box, for applications and headsets. An empty value is not shown.
package struct Identity: Equatable, Sendable {
    package var accountID = ""
    package var userID = ""
    /// The name of the box: the alias of its adapters, and the name of the network.
    package var displayName = ""
    /// The network's name on headsets, in place of `displayName`.
    package var localizedName = ""
    /// A WAV file to ring with, in place of that of `[ring]`.
    package var ringtoneSound = ""
    /// A picture for graphical clients.
    package var iconFileName = ""

    package init() {}
}

extension Configuration {
    /// The network's name on headsets (+COPS), at most as long as they accept.
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
