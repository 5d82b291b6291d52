package import DBus

/// A program's settings for calls on local devices (`org.btcall.AudioConfigurator1`).
package struct AudioSettingsDescription: Hashable, Sendable {
    package enum Directions: String, Hashable, Sendable, CaseIterable { case playAndRecord, play }
    package enum Mode: String, Hashable, Sendable, CaseIterable { case voice, media }
    package enum Override: String, Hashable, Sendable, CaseIterable { case none, speakerphone }

    /// Accepted periods of a sound card in milliseconds.
    package static let periods = 5...40
    /// Largest number of devices in `exclude`.
    package static let mostExcluded = 64

    package static let entries: [EntryType] = [
        .text("directions"), .text("mode"), .texts("exclude"), .integer("period"), .text("override"),
    ]

    package var directions: Directions
    package var mode: Mode
    package var exclude: [DeviceWord]
    package var period: Int
    package var override: Override

    package init(
        directions: Directions = .playAndRecord, mode: Mode = .voice, exclude: [DeviceWord] = [], period: Int = 10,
        override: Override = .none
    ) {
        self.directions = directions
        self.mode = mode
        self.exclude = exclude
        self.period = period
        self.override = override
    }

    /// - Parameter other: the values for missing keys.
    /// - Throws: `.invalidArgument` for a value that is not accepted, naming the accepted ones.
    package init(_ fields: Fields, replacing other: AudioSettingsDescription) throws(APIError) {
        directions = try fields.optionalWord("directions", of: Directions.self) ?? other.directions
        mode = try fields.optionalWord("mode", of: Mode.self) ?? other.mode
        override = try fields.optionalWord("override", of: Override.self) ?? other.override
        period = try fields.optionalInteger("period", as: Int.self) ?? other.period
        guard Self.periods.contains(period) else {
            throw APIError(
                .invalidArgument,
                """
                period in \(fields.subject) is \(period); accepted: \(Self.periods.lowerBound) to \
                \(Self.periods.upperBound) ms
                """)
        }
        guard fields.values["exclude"] != nil else {
            exclude = other.exclude
            return
        }
        let texts = try fields.strings("exclude")
        guard texts.count <= Self.mostExcluded else {
            throw APIError(
                .invalidArgument,
                "exclude in \(fields.subject) has \(texts.count) devices; accepted: at most \(Self.mostExcluded)")
        }
        var words: [DeviceWord] = []
        for text in texts {
            guard let word = DeviceWord(text), word != .none else {
                throw APIError(
                    .invalidArgument,
                    "exclude in \(fields.subject) has \"\(text)\"; accepted: \(DeviceWord.accepted), but not none")
            }
            if !words.contains(word) { words.append(word) }
        }
        exclude = words
    }

    package var fields: [String: Value] {
        [
            "directions": .string(directions.rawValue), "mode": .string(mode.rawValue),
            "exclude": .strings(exclude.map(\.description)), "period": .uint32(UInt32(clamping: period)),
            "override": .string(override.rawValue),
        ]
    }
}

/// The local device that was last opened for calls, with its actual parameters (`Session1.Opened`).
package struct OpenedAudioDescription: Hashable, Sendable {
    package let device: DeviceWord
    /// Milliseconds.
    package let period: Double
    /// Sample rate in Hz.
    package let rate: Int

    package init(device: DeviceWord, period: Double, rate: Int) {
        self.device = device
        self.period = period
        self.rate = rate
    }

    package init(_ fields: Fields) throws(APIError) {
        device = try fields.device("device")
        period = try fields.optionalDouble("period") ?? 0
        rate = try fields.optionalInteger("rate", as: Int.self) ?? 0
    }

    package var fields: [String: Value] {
        ["device": .string(device.description), "period": .double(period), "rate": .uint32(UInt32(clamping: rate))]
    }
}
