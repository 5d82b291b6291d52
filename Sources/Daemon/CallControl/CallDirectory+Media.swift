package import BTCallAPI
import BluetoothTypes
import Configuration
package import ControlLoop
import Logging
import Routing
import Telephony

/// An open question to clients: may an application change the media of its call?
@ControlPlane
package final class MediaQuestion {
    package enum Answer { case accepted, declined, callOver, unanswered }

    package let call: CallRecord
    fileprivate var answer: CheckedContinuation<Answer, Never>?
    fileprivate var timer: Timer?

    package init(_ call: CallRecord) {
        self.call = call
    }
}

// The media directions of calls: who asks for a change, who allows it, and its effects.
extension CallDirectory {
    // MARK: Starting

    /// - Throws: `notSupported` when the application that would dial has no video.
    package func mediaOfPlaced(_ options: MediaOptions, by name: String?) throws(APIError) -> MediaState {
        let media = MediaState(audio: configuredMedia.audio).changed(by: options, configured: configuredMedia)
        let provider = table.providers.first { $0.capabilities.contains(.dial) && (name == nil || $0.name == name) }
        if media.video != .off, let provider, !provider.capabilities.contains(.video) {
            throw Self.noVideo(provider.name)
        }
        return media
    }

    /// The offered media, limited by the configuration.
    package func mediaOfAnswer(_ record: CallRecord) -> MediaState {
        var media = record.media
        media.audio = media.audio.limited(to: configuredMedia.audio)
        media.video = media.video.limited(to: configuredMedia.video)
        return media
    }

    /// Answers with the media in `options`; what they leave out is as configured.
    ///
    /// - Throws: `notSupported` for video in a call without video; as `perform`.
    package func answer(_ record: CallRecord, _ options: MediaOptions) async throws(APIError) {
        let media = try mediaOfAnswer(record, options)
        do throws(APIError) {
            try await perform(.answer(record.identifier), answerMedia: media)
        } catch {
            guard error.code == .notSupported else { throw error }
            throw Self.cannotHold(.notSupported, whileAnotherIs: "answered")
        }
    }

    /// - Returns: nil when the options are empty.
    private func mediaOfAnswer(_ record: CallRecord, _ options: MediaOptions) throws(APIError) -> MediaState? {
        guard options != MediaOptions() else { return nil }
        let usual = mediaOfAnswer(record)
        var media = usual.changed(by: options, configured: usual)
        if media.video == .off, options.video == .asConfigured { media.video = configuredMedia.video }
        try checkVideo(media, record)
        return media
    }

    private func checkVideo(_ media: MediaState, _ record: CallRecord) throws(APIError) {
        let hasVideo = record.call.details.hasVideo || record.call.capabilities.contains(.video)
        if media.video != .off, !hasVideo { throw Self.noVideo(record.provider.name) }
    }

    private static func noVideo(_ provider: String) -> APIError {
        APIError(.notSupported, "\(provider) did not register the capability video, and the call has none")
    }

    // MARK: Changing

    /// Asks the call's application to change its media, then applies the change.
    ///
    /// - Throws: `wrongState` for a call that is not answered; `notSupported` for video in a call without video;
    ///   `noSuchCall` when it ended meanwhile; `providerFailed`, `timedOut`.
    package func changeMedia(of record: CallRecord, _ options: MediaOptions) async throws(APIError) {
        let media = record.media.changed(by: options, configured: configuredMedia)
        try checkChange(media, of: record)
        guard media != record.media else { return }
        try await carryOut(media, of: record)
    }

    /// Changes the media when the application itself asks: at once or after a client has agreed, by the rule.
    ///
    /// - Parameter busName: bus name of the application that asks.
    /// - Throws: as `changeMedia`; `notProvider`; `accessDenied` when a client declines, `timedOut` when nobody answers.
    package func requestMediaChange(
        of record: CallRecord, _ options: MediaOptions, from busName: String
    ) async throws(APIError) {
        guard record.provider.busName == busName else {
            throw APIError(.notProvider, "the call belongs to \(record.provider.name): SetMedia is for everybody else")
        }
        let media = record.media.changed(by: options, configured: configuredMedia)
        try checkChange(media, of: record)
        guard media != record.media else { return }
        if mediaChangeRule == .ask {
            switch try await ask(record, media) {
            case .accepted: break
            case .declined: throw APIError(.accessDenied, "a client has declined the change (AnswerMediaChange)")
            case .callOver: throw APIError(.noSuchCall, "the call ended before somebody agreed")
            case .unanswered:
                throw APIError(.timedOut, "nobody agreed within \(mediaTimeout): see Call1.AnswerMediaChange")
            }
        }
        try await carryOut(media, of: record)
    }

    /// Answers a media change that the call's application asked for.
    ///
    /// - Throws: `wrongState` when it asked for none; `accessDenied` to the application itself.
    package func answerMediaChange(
        of record: CallRecord, _ isAccepted: Bool, from busName: String
    ) throws(APIError) {
        guard let question = mediaQuestions.first(where: { $0.call === record }) else {
            throw APIError(.wrongState, "nobody asks to change the media; MediaChangeRequested says when somebody does")
        }
        guard record.provider.busName != busName else {
            throw APIError(.accessDenied, "you ask for it yourself: another program has to agree")
        }
        end(question, isAccepted ? .accepted : .declined)
    }

    private func checkChange(_ media: MediaState, of record: CallRecord) throws(APIError) {
        switch record.call.state {
        case .active, .held, .dialing, .alerting: break
        case .setup, .incoming, .waiting:
            throw APIError(.wrongState, "the call is not answered: give audio and video to Answer")
        case .ended: throw Self.ended
        }
        try checkVideo(media, record)
    }

    private func carryOut(_ media: MediaState, of record: CallRecord) async throws(APIError) {
        try await record.provider.changeMedia(record.path, media)
        guard self.record(record.identifier) != nil else { throw Self.ended }
        var new = record.media
        new.audio = media.audio
        new.video = media.video
        setMedia(new, of: record)
    }

    private static var ended: APIError { APIError(.noSuchCall, "the call ended while the request was under way") }

    private func ask(_ record: CallRecord, _ media: MediaState) async throws(APIError) -> MediaQuestion.Answer {
        guard mediaQuestions.allSatisfy({ $0.call !== record }) else {
            throw APIError(.wrongState, "the last request is not answered yet: wait for its answer")
        }
        let question = MediaQuestion(record)
        mediaQuestions.append(question)
        question.timer = ControlLoop.shared.schedule(after: mediaTimeout) { [weak self] in
            self?.end(question, .unanswered)
        }
        setRequestedMedia(media, of: record)
        return await withCheckedContinuation { continuation in
            question.answer = continuation
            mediaRequests.send((record, media))
        }
    }

    private func end(_ question: MediaQuestion, _ answer: MediaQuestion.Answer) {
        mediaQuestions.removeAll { $0 === question }
        question.timer?.cancel()
        setRequestedMedia(nil, of: question.call)
        question.answer?.resume(returning: answer)
        question.answer = nil
    }

    private func setRequestedMedia(_ media: MediaState?, of record: CallRecord) {
        guard media != record.requestedMedia else { return }
        record.requestedMedia = media
        properties.send((record, [BTCallName.Call.requestedMedia]))
    }

    package func dropMediaQuestions(of record: CallRecord) {
        for question in mediaQuestions where question.call === record { end(question, .callOver) }
    }

    // MARK: Local audio and video

    /// Lets the far end hear the person, or not; the call's audio continues.
    package func setLocalAudio(_ isOn: Bool, of record: CallRecord) {
        var media = record.media
        media.isLocalAudioEnabled = isOn
        setMedia(media, of: record)
        notifyMuted()
    }

    /// Switches the camera, which belongs to the application: asks it, and restores the property if it refuses.
    ///
    /// - Throws: `wrongState` for a call without video.
    package func setLocalVideo(_ isOn: Bool, of record: CallRecord) throws(APIError) {
        guard record.media.video != .off else { throw APIError(.wrongState, "the call has no video: SetMedia adds it") }
        guard isOn != record.media.isLocalVideoEnabled else { return }
        var media = record.media
        media.isLocalVideoEnabled = isOn
        setMedia(media, of: record)
        Task { @ControlPlane in
            do throws(APIError) {
                try await record.provider.changeMedia(record.path, media)
            } catch {
                logger.warning("call \(record.uuid): the application did not switch the camera: \(error)")
                var media = record.media
                media.isLocalVideoEnabled = !isOn
                setMedia(media, of: record)
            }
        }
    }

    // MARK: Effects

    /// Applies the new media: notifies the audio, the policy and the clients.
    package func setMedia(_ media: MediaState, of record: CallRecord) {
        let old = record.media
        guard media != old, !record.call.state.isEnded else { return }
        record.media = media
        audio?.gate(record)
        logger.info("call \(record.uuid): audio \(media.audio.rawValue), video \(media.video.rawValue)")
        if record.call.state != .setup {
            if media.audio != old.audio || media.video != old.video {
                routing.send(.callMedia(call: record.uuid, audio: media.audio, video: media.video))
            }
            let (hasAudio, hasVideo) = (media.isLocalAudioEnabled, media.isLocalVideoEnabled)
            if hasAudio != old.isLocalAudioEnabled || hasVideo != old.isLocalVideoEnabled {
                routing.send(.callLocalMedia(call: record.uuid, audio: hasAudio, video: hasVideo))
            }
        }
        typealias Name = BTCallName.Call
        properties.send((record, [Name.audio, Name.video, Name.localAudioEnabled, Name.localVideoEnabled]))
    }

    // MARK: Mute

    /// Mutes the microphone for all calls, or unmutes it, and notifies the applications that registered for it.
    package func setMuted(_ isMuted: Bool) {
        self.isMuted = isMuted
        notifyMuted()
    }

    package func notifyMuted() {
        for record in calls {
            // The far end hears nobody either way.
            let isMuted = isMuted || !record.media.isLocalAudioEnabled
            guard record.isNotifiedMuted != isMuted else { continue }
            guard record.call.state == .active || record.call.state == .held else { continue }
            record.isNotifiedMuted = isMuted
            guard record.call.capabilities.contains(.mute) else { continue }
            Task { @ControlPlane in
                do throws(APIError) {
                    try await record.provider.setMuted(record.path, isMuted)
                } catch {
                    logger.notice("call \(record.uuid) is \(isMuted ? "muted" : "unmuted") by btcalld only: \(error)")
                }
            }
        }
    }
}
