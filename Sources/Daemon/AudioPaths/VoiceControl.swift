package import AudioDSP
import AudioEngine
package import BTCallAPI
package import Configuration
package import ControlLoop
package import Diagnostics

/// Voice processing of the microphone: as configured, unless it was switched off or bypassed at run time.
@ControlPlane
package final class VoiceControl {
    /// Properties of `Audio1` have changed; sent with their names.
    package let changes = Signal<[String]>()
    private let graph: AudioGraph
    private let problems: ProblemList
    private var configuration: Configuration
    private var isSwitchedOn = true
    /// Whether the set-up of the processor failed.
    private var hasFailed = false
    package private(set) var isBypassed = false

    package init(_ configuration: Configuration, graph: AudioGraph, problems: ProblemList) {
        self.configuration = configuration
        self.graph = graph
        self.problems = problems
        build()
    }

    /// Whether the microphone is processed.
    package var isEnabled: Bool { isSwitchedOn && configuration.voiceProcessing != .none }

    /// The processor in use.
    package var kind: VoiceProcessingKind { isEnabled && !hasFailed ? configuration.voiceProcessing : .none }

    /// - Throws: `wrongState` if the configuration names no processor.
    package func setEnabled(_ isOn: Bool) throws(APIError) {
        guard configuration.voiceProcessing != .none else {
            throw APIError(
                .wrongState,
                "the setting audio.voiceProcessing is none: set it to \(VoiceProcessingKind.preferred.rawValue) first")
        }
        guard isOn != isSwitchedOn else { return }
        isSwitchedOn = isOn
        build()
        changes.send([BTCallName.Audio.voiceProcessing, BTCallName.Audio.voiceProcessor])
    }

    package func setBypassed(_ isBypassed: Bool) {
        guard isBypassed != self.isBypassed else { return }
        self.isBypassed = isBypassed
        graph.engine.setVoiceBypassed(isBypassed)
        changes.send([BTCallName.Audio.voiceProcessingBypassed])
    }

    /// Applies a changed configuration.
    package func follow(_ new: Configuration) {
        let old = configuration
        configuration = new
        var names: [String] = []
        if new.voiceProcessing != old.voiceProcessing {
            build()
            names = [BTCallName.Audio.voiceProcessing, BTCallName.Audio.voiceProcessor]
        } else if new.voiceStages != old.voiceStages {
            graph.setVoiceStages(new.voiceStages)
        }
        let stages = new.voiceStages.symmetricDifference(old.voiceStages)
        names += Self.names.filter { stages.contains($0.stage) }.map(\.name)
        if !names.isEmpty { changes.send(names) }
    }

    private static let names: [(stage: VoiceStages, name: String)] = [
        (.echoCancellation, BTCallName.Audio.echoCancellation), (.noiseSuppression, BTCallName.Audio.noiseSuppression),
        (.automaticGain, BTCallName.Audio.automaticGain), (.highPass, BTCallName.Audio.highPass),
    ]

    private func build() {
        hasFailed = false
        let wanted = kind
        graph.setVoiceProcessing(wanted, configuration.voiceStages) { [weak self] problem in
            self?.built(wanted, problem)
        }
    }

    private func built(_ wanted: VoiceProcessingKind, _ problem: String?) {
        guard let problem else {
            if !hasFailed { problems.end("voiceProcessing") }
            return
        }
        problems.begin(
            "voiceProcessing", what: "echo and noise stay in the microphone: \(problem)",
            remedy: "set audio.voiceProcessing to another value, or free memory and set it again")
        guard wanted != .none else { return }
        hasFailed = true
        // Remove the earlier processor, too: it does not match the present configuration.
        graph.setVoiceProcessing(.none, []) { [weak self] problem in self?.built(.none, problem) }
        changes.send([BTCallName.Audio.voiceProcessor])
    }
}
