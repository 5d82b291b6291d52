package import AudioDSP

// Processing of the routed terminal's microphone, whichever terminal it is.
extension AudioEngine {
    /// Starts, replaces or (nil) stops processing of the microphone; initially off.
    ///
    /// In a call the far end hears a gap of about 40 ms, because the microphone's delay changes by that much.
    ///
    /// - Parameters:
    ///   - kind: which echo canceller; `none` changes nothing and only detects speech for
    ///     ``AudioEngineEvent/speakingWhileMuted``; nil does not even detect.
    ///   - stages: as for ``setVoiceStages(_:)``.
    /// - Throws: `voiceProcessing` when it cannot be set up; the previous processing stays.
    package func setVoiceProcessing(
        _ kind: VoiceProcessingKind?, stages: VoiceStages = .all
    ) throws(AudioEngineError) {
        var port: VoicePointer?
        if let kind {
            let made = VoicePointer.allocate(capacity: 1)
            do throws(VoiceProcessorError) {
                made.initialize(to: try VoicePort(kind, bus: configuration.bus, stages: stages))
            } catch {
                made.deallocate()
                throw .voiceProcessing(error)
            }
            port = made
        }
        guard send(.setVoice(port, stages)) else {
            if let port { free(voice: port) }
            throw .commandQueueFull
        }
    }

    /// Applies exactly these stages to the microphone, without a gap. No effect with `none` or on a terminal that processes
    /// its own voice.
    package func setVoiceStages(_ stages: VoiceStages) {
        _ = send(.setVoiceStages(stages))
    }

    /// Passes the microphone unprocessed at unchanged delay and without a gap, while everything keeps adapting.
    package func setVoiceBypassed(_ isBypassed: Bool) {
        _ = send(.setVoiceBypassed(isBypassed))
    }

    /// Sets whether the device removes echo and noise itself; if so, its microphone is left unprocessed.
    package func setOwnVoiceProcessing(_ id: UInt32, _ isOwn: Bool) {
        _ = send(.setOwnVoice(id, isOwn))
    }

    func free(voice port: VoicePointer) {
        port.deinitialize(count: 1).deallocate()
    }
}
