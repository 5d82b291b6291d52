package import BTCallAPI
package import BluetoothTypes
package import DBus

/// Which ways the audio and video of a call go, and whether the person lets their own side through.
///
/// Both are independent of hold: a call that is taken up again has what it had before.
package struct MediaState: Hashable, Sendable {
    package var audio = MediaDirection.sendReceive
    package var video = MediaDirection.off
    package var isLocalAudioEnabled = true
    package var isLocalVideoEnabled = true

    package init(audio: MediaDirection = .sendReceive, video: MediaDirection = .off) {
        self.audio = audio
        self.video = video
    }

    /// What an application reports of a call of its own.
    package init(reported options: ReportOptions) {
        audio = options.media.audio ?? .sendReceive
        switch options.media.video {
        case .direction(let direction): video = direction
        case .asConfigured: video = .sendReceive
        case nil: video = options.isVideo ? .sendReceive : .off
        }
    }

    /// The person hears the far end.
    package var hears: Bool { audio.receives }
    /// The far end hears the person.
    package var speaks: Bool { audio.sends && isLocalAudioEnabled }

    /// As an application is asked for it.
    package var fields: [String: Value] {
        ["audio": .string(audio.rawValue), "video": .string(video.rawValue)]
    }

    /// The same with the parts of `options` that say something.
    package func changed(by options: MediaOptions, configured: MediaState) -> MediaState {
        var media = self
        media.audio = options.audio ?? audio
        switch options.video {
        case .direction(let direction): media.video = direction
        case .asConfigured: media.video = configured.video
        case nil: break
        }
        return media
    }
}
