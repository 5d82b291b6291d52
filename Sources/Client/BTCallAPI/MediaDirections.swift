package import BluetoothTypes
package import DBus

/// Directions of audio and video that an application requests for its call.
package struct MediaDirections: Hashable, Sendable {
    package var audio: MediaDirection
    package var video: MediaDirection

    package init(audio: MediaDirection, video: MediaDirection) {
        self.audio = audio
        self.video = video
    }

    package init(_ fields: Fields) throws(APIError) {
        audio = try fields.word("audio", of: MediaDirection.self)
        video = try fields.word("video", of: MediaDirection.self)
    }

    package var fields: [String: Value] {
        ["audio": .string(audio.rawValue), "video": .string(video.rawValue)]
    }
}
