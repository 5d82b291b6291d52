package import AudioDSP

// What is done to the microphone of the routed terminal, whichever it is.
extension AudioEngine {
    /// Has the microphone processed from here on, or left alone again; in the beginning it is left alone.
    ///
    /// In a call the far end hears a gap of some 40 ms: the microphone is so much later or earlier afterwards.
    ///
    /// - Parameters:
    ///   - kind: whose echo canceller; `none` changes nothing and only listens for ``AudioEngineEvent/speakingWhileMuted``;
    ///     nil does not even listen.
    ///   - stages: as ``setVoiceStages(_:)``.
    /// - Throws: `voiceProcessing` when it cannot be set up; what was there stays.
    package func setVoiceProcessing(
        _ kind: VoiceProcessingKind?, stages: VoiceStages = .all
    ) throws(AudioEngineError) {
        var port: VoicePointer?
        if let kind {
            let made = VoicePointer.allocate(capacity: 1)
            do throws(VoiceProcessorError) {
                made.initialize(to: try VoicePort(kind, busRate: configuration.busRate, stages: stages))
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

    /// Does these and no others to the microphone, without a gap. Nothing with `none`, nor for a terminal that does it itself.
    package func setVoiceStages(_ stages: VoiceStages) {
        _ = send(.setVoiceStages(stages))
    }

    /// Lets the microphone through as it is, as late as before and without a gap, while everything goes on adapting.
    package func setVoiceBypassed(_ isBypassed: Bool) {
        _ = send(.setVoiceBypassed(isBypassed))
    }

    /// The device takes echo and noise out itself: nothing is done to its microphone here.
    package func setOwnVoiceProcessing(_ id: UInt32, _ isOwn: Bool) {
        _ = send(.setOwnVoice(id, isOwn))
    }

    func free(voice port: VoicePointer) {
        port.deinitialize(count: 1).deallocate()
    }
}
