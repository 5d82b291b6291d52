package import BTCallAPI
package import BluetoothTypes
package import DBus

/// Directions of a call's audio and video, and whether the person's own audio and video are enabled.
///
/// Independent of hold: a resumed call has the same media as before.
package struct MediaState: Hashable, Sendable {
    package var audio = MediaDirection.sendReceive
    package var video = MediaDirection.off
    package var isLocalAudioEnabled = true
    package var isLocalVideoEnabled = true

    package init(audio: MediaDirection = .sendReceive, video: MediaDirection = .off) {
        self.audio = audio
        self.video = video
    }

    /// The media that an application reports for its own call.
    package init(reported options: ReportOptions) {
        audio = options.media.audio ?? .sendReceive
        switch options.media.video {
        case .direction(let direction): video = direction
        case .asConfigured: video = .sendReceive
        case nil: video = options.isVideo ? .sendReceive : .off
        }
    }

    /// Whether the person hears the far end.
    package var hears: Bool { audio.receives }
    /// Whether the far end hears the person.
    package var speaks: Bool { audio.sends && isLocalAudioEnabled }

    /// The fields of a request to an application.
    package var fields: [String: Value] {
        ["audio": .string(audio.rawValue), "video": .string(video.rawValue)]
    }

    /// A copy with the values that `options` give.
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
