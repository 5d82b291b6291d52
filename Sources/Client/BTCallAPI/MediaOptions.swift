package import BluetoothTypes
package import DBus

/// The options `audio` and `video` of all methods that begin, answer or change a call.
package struct MediaOptions: Hashable, Sendable {
    package enum Video: Hashable, Sendable {
        /// With video, in the configured direction.
        case asConfigured
        case direction(MediaDirection)
    }

    package static let entries: [EntryType] = [.text("audio"), .textOrFlag("video")]

    /// Nil when the option is absent.
    package var audio: MediaDirection?
    package var video: Video?

    package init(audio: MediaDirection? = nil, video: Video? = nil) {
        self.audio = audio
        self.video = video
    }

    /// - Throws: `.invalidArgument` for a word that is not a direction, naming the accepted ones.
    package init(_ fields: Fields) throws(APIError) {
        audio = try fields.optionalWord("audio", of: MediaDirection.self)
        if let isWanted = fields.values["video"]?.boolValue {
            video = isWanted ? .asConfigured : .direction(.off)
        } else {
            video = try fields.optionalWord("video", of: MediaDirection.self).map { .direction($0) }
        }
    }

    package var fields: [String: Value] {
        var fields: [String: Value] = [:]
        fields["audio"] = audio.map { .string($0.rawValue) }
        switch video {
        case .asConfigured: fields["video"] = .bool(true)
        case .direction(let direction): fields["video"] = .string(direction.rawValue)
        case nil: break
        }
        return fields
    }
}
