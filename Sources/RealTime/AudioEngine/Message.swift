/// What crosses between the two faces of the engine: plain values, and storage by pointer.
///
/// Commands go to the real-time thread, events come back. A command that adds something hands its storage over; an event
/// gives it back, and the control side frees it.
struct Message: BitwiseCopyable {
    enum Kind: UInt8, BitwiseCopyable {
        case none
        // Commands.
        case attachCall, setCallActive, detachCall, addTerminal, removeTerminal, route, mute, speakerGain
        case microphoneGain, silentLimit, primeBlocks, stop
        case attachInjection, microphoneVolume, applicationVolume
        case setVoice, voiceStages, voiceBypass, ownVoice
        case addCapture, attachCapture, setCaptureAlone, removeCapture
        case attachManual, detachManual, attachTap, detachTap
        case addPlayback, movePlayback, endPlayback
        case callGates
        case addPCM, removePCM, setPCMCall
        case setListening, streamDelay
        // Events.
        case firstPacket, linkSilent, linkResumed, terminalFailed, terminalRemoved, routed, callStarted, callClosed
        case callReleased, deadlineMissed, eventsLost, injectionEnded
        case voiceReturned, speakingWhileMuted
        case captureReady, captureFailed, captureRemoved, microphoneLive
        case manualEnded, tapEnded, playbackEnded
        case pcmRemoved
    }

    var kind: Kind
    /// Terminal or call; `noTerminal` where a route is to or at none.
    var id: UInt32
    var number: Int64
    var gain: Float
    /// A `Terminal`, a `CallPort`, an `InjectionPort`, a `VoicePort`, a `CapturePort`, a `ManualPort`, a `TapPort`, a
    /// `PlaybackPort` or a `PCMPort`.
    var storage: UnsafeMutableRawPointer?

    static var noTerminal: UInt32 { @_noLocks get { UInt32.max } }

    @_noLocks
    init(
        _ kind: Kind, id: UInt32, number: Int64 = 0, gain: Float = 0, storage: UnsafeMutableRawPointer? = nil
    ) {
        self.kind = kind
        self.id = id
        self.number = number
        self.gain = gain
        self.storage = storage
    }
}
