import BTCall
import BaresipControl
import BluetoothTypes
import ControlLoop
import Logging
import Telephony

// Requests from headsets and clients for baresip's calls.
extension BaresipProvider {
    func performStart(_ call: BridgeCall.ID, number: String, media: CallMedia) async throws(ProviderRefusal) {
        try await performStart(call, number: number)
        guard media.video != self.media.video else { return }
        // baresip has video in each call, whatever was dialled.
        Task { @ControlPlane in await reportVideo(of: call) }
    }

    private func reportVideo(of call: BridgeCall.ID) async {
        do throws(BridgeError) {
            try await registration?.update(call, hasVideo: media.video != .off)
            try await registration?.requestMediaChange(of: call, video: media.video)
        } catch {
            logger.notice("the video of a dialled call is not reported: \(error.message)")
        }
    }

    /// btcall-video switches the camera, and btcalld the audio; baresip shows what it receives.
    func performMediaChange(
        _ call: BridgeCall.ID, _ media: CallMedia, isCameraOn: Bool
    ) async throws(ProviderRefusal) {
        guard settings.video != .off else {
            throw .notSupported("baresip's calls are reported without video: see video in /etc/btcall/baresip.conf")
        }
        guard media.video.receives == self.media.video.receives else {
            throw .notSupported("baresip receives what the far end sends: only the direction to the far end can change")
        }
    }

    func performStart(_ call: BridgeCall.ID, number: String) async throws(ProviderRefusal) {
        let failure = await perform { id in
            let (key, actions) = follower.dial(number, id: id, at: ControlLoop.now)
            calls[call] = key
            return actions
        }
        guard let failure else { return }
        calls[call] = nil
        throw refusal(failure)
    }

    func performAnswer(_ call: BridgeCall.ID) async throws(ProviderRefusal) {
        try await perform(call) { .answer($0) }
    }

    func performEnd(_ call: BridgeCall.ID, reason: String) async throws(ProviderRefusal) {
        let reason = CallEndReason(rawValue: reason) ?? .localHangUp
        try await perform(call) { .end($0, reason) }
    }

    func performSetHeld(_ call: BridgeCall.ID, _ held: Bool) async throws(ProviderRefusal) {
        try await perform(call) { .setHeld($0, held) }
    }

    func performDTMF(_ call: BridgeCall.ID, tones: String) async throws(ProviderRefusal) {
        try await perform(call) { .sendTones($0, tones) }
    }

    func performSetMuted(_ call: BridgeCall.ID, _ muted: Bool) async throws(ProviderRefusal) {
        try await perform(call) { .setMuted($0, muted) }
    }

    func audioReady(_ call: BridgeCall.ID, _ audio: CallAudio) async {
        // Never called: baresip gets its audio through the PCM.
    }

    func released() async { ended() }

    private func perform(
        _ call: BridgeCall.ID, _ request: (BaresipFollower.CallKey) -> BaresipFollower.Request
    ) async throws(ProviderRefusal) {
        guard let key = await key(of: call) else { throw refusal(.noSuchCall) }
        let failure = await perform { id in follower.request(request(key), id: id, at: ControlLoop.now) }
        if let failure { throw refusal(failure) }
    }

    private func refusal(_ failure: BaresipFollower.Failure) -> ProviderRefusal {
        switch failure {
        case .away: .failed("baresip at \(settings.control) cannot be reached")
        case .noSuchCall: .noSuchCall("baresip no longer has the call")
        case .timedOut(let what), .refused(let what), .invalid(let what): .failed(what)
        }
    }
}

extension CallMedia.Direction {
    fileprivate var receives: Bool { self == .sendReceive || self == .receiveOnly }
}
