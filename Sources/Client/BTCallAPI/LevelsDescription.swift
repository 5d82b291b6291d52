package import DBus

/// The answer of `Audio1.Levels`: loudness of the two directions of the calls, in decibels below full scale, -96…0.
package struct LevelsDescription: Hashable, Sendable {
    package struct Level: Hashable, Sendable {
        package var peak: Double
        package var rms: Double

        package init(peak: Double, rms: Double) {
            self.peak = peak
            self.rms = rms
        }
    }

    package var heard: Level
    package var said: Level

    package init(heard: Level, said: Level) {
        self.heard = heard
        self.said = said
    }

    /// Returns nil when nothing was measured.
    package init?(_ fields: Fields) throws(APIError) {
        guard let heardPeak = try fields.optionalDouble("heardPeak"),
            let heardRMS = try fields.optionalDouble("heardRMS"), let saidPeak = try fields.optionalDouble("saidPeak"),
            let saidRMS = try fields.optionalDouble("saidRMS")
        else { return nil }
        heard = Level(peak: heardPeak, rms: heardRMS)
        said = Level(peak: saidPeak, rms: saidRMS)
    }

    package var fields: [String: Value] {
        [
            "heardPeak": .double(heard.peak), "heardRMS": .double(heard.rms), "saidPeak": .double(said.peak),
            "saidRMS": .double(said.rms),
        ]
    }
}
