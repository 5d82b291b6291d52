import ArgumentParser
import BTCall
import CommandKit
import ControlLoop
import JSONText

struct ProcessingCommand: BridgeCommand {
    static let configuration = CommandConfiguration(
        commandName: "processing", abstract: "Show and set the microphone's voice processing.",
        discussion: """
            PART is bypass, echo, noise, gain or highpass; without PART the whole processing. Without on or off \
            it shows the state.

            `btcall processing off` and `on` hold until btcalld ends, and cause a gap of about 40 ms in a call. \
            `btcall processing bypass on` passes the microphone through unprocessed, without a gap. The parts \
            are settings, kept over a restart. The setting audio.voiceProcessing selects the processor: `btcall \
            config audio.voiceProcessing speex`.

            The microphone of a headset that does it itself is not processed.

            Examples:
              btcall processing
              btcall processing bypass on
            """)

    enum Part: String, CaseIterable, Sendable {
        case bypass, echo, noise, gain, highpass

        /// Nil for the bypass.
        var stage: BridgeAudio.VoiceStage? {
            switch self {
            case .bypass: nil
            case .echo: .echoCancellation
            case .noise: .noiseSuppression
            case .gain: .automaticGain
            case .highpass: .highPass
            }
        }
    }

    @Argument(
        help: "on or off; or bypass, echo, noise, gain or highpass, followed by on or off.",
        completion: .list(["on", "off"] + Part.allCases.map(\.rawValue)))
    var words: [String] = []

    @OptionGroup var options: CommonOptions

    /// The requested change.
    private struct Change {
        /// Nil for the whole processing.
        let part: Part?
        let isOn: Bool
    }

    func validate() throws { _ = try change() }

    private func change() throws -> Change? {
        var words = words[...]
        guard let first = words.popFirst() else { return nil }
        let part = Part(rawValue: first)
        guard let word = part == nil ? first : words.popFirst() else { return nil }
        guard let state = Switch(rawValue: word) else {
            throw ValidationError(
                part == nil
                    ? "\(word) is not accepted; accepted: on, off, bypass, echo, noise, gain, highpass"
                    : "\(first) accepts on or off, not \(word)")
        }
        guard words.isEmpty else { throw ValidationError("\(words[words.startIndex]) is not accepted after \(word)") }
        return Change(part: part, isOn: state == .on)
    }

    func perform(on bridge: CallBridge, _ output: Output) async throws {
        let audio = bridge.audio
        if let change = try change() {
            switch (change.part, change.part?.stage) {
            case (nil, _): try await audio.setVoiceProcessingEnabled(change.isOn)
            case (_, let stage?): try await audio.setVoiceStage(stage, enabled: change.isOn)
            case (_, nil): try await audio.setVoiceProcessingBypassed(change.isOn)
            }
        }
        let processor = try await audio.voiceProcessor()
        let isEnabled = try await audio.isVoiceProcessingEnabled()
        let isBypassed = try await audio.isVoiceProcessingBypassed()
        var stages: [(part: Part, isOn: Bool)] = []
        for part in Part.allCases {
            guard let stage = part.stage else { continue }
            stages.append((part, try await audio.isVoiceStageEnabled(stage)))
        }
        if options.json {
            output.print(
                JSON(
                    [
                        ("enabled", JSON(isEnabled)),
                        ("processor", JSON(processor == .none ? nil : processor.rawValue)),
                        ("bypassed", JSON(isBypassed)),
                    ] + stages.map { ($0.part.rawValue, JSON($0.isOn)) }))
            return
        }
        var facts = Facts()
        facts.add("Processing", isEnabled ? "by \(processor.rawValue)" : "off")
        facts.add("Bypass", isBypassed ? "on: the microphone is unprocessed" : "off")
        for (part, isOn) in stages { facts.add(Self.name(part), isOn ? "on" : "off") }
        output.print(facts)
    }

    private static func name(_ part: Part) -> String {
        switch part {
        case .bypass: "Bypass"
        case .echo: "Echo"
        case .noise: "Noise"
        case .gain: "Gain"
        case .highpass: "High pass"
        }
    }
}
