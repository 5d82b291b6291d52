package import AudioEngine
import BTCallAPI
import ControlLoop
package import DBus

// How loud the calls are.
extension AudioObject {
    package static func levelMethods(_ engine: AudioEngine) -> [ExportedInterface.Method] {
        [
            .init(BTCallName.Audio.levels, out: [("levels", "a{sv}")], isReading: true) { _ in
                [.vardict(engine.levels().map { LevelsDescription($0).fields } ?? [:])]
            }
        ]
    }
}

extension LevelsDescription {
    package init(_ levels: EngineLevels) {
        self.init(
            heard: Level(peak: levels.heard.peak, rms: levels.heard.rms),
            said: Level(peak: levels.said.peak, rms: levels.said.rms))
    }
}
