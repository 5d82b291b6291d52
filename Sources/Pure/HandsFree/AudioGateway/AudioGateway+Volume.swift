import BluetoothTypes

/// Volumes of one headset as reported by either side.
struct VolumeState: Sendable {
    /// To be sent once the service level connection is established.
    var wanted: [AudioGateway.VolumeDirection: Int] = [:]
    /// Latest value from either side.
    var known: [AudioGateway.VolumeDirection: Int] = [:]
    /// When `stale` is sent again.
    var resendAt: Instant?
    /// Volumes known before the audio link opened and not reported since.
    var stale: Set<AudioGateway.VolumeDirection> = []
    /// Volumes before the audio link, of a headset that forgets them, and the time until which a report is what it fell
    /// back to, not a choice.
    var remembered: [AudioGateway.VolumeDirection: Int] = [:]
    var fallsBackUntil: Instant?
    /// Time of the last correction of a too loud headset, and of the next one.
    var correctedAt: Instant?
    var correctAt: Instant?

    /// The audio link has closed: what the headset fell back to was not a choice.
    mutating func forgetResend() {
        resendAt = nil
        known.merge(remembered) { _, before in before }
        remembered = [:]
    }

    mutating func said(_ direction: AudioGateway.VolumeDirection, _ value: Int) {
        known[direction] = value
        stale.remove(direction)
    }
}

/// +VGS and +VGM in both directions: 0…15, where 15 is the loudest.
extension AudioGateway {
    /// Time from the audio link until the volume is repeated, for headsets that forget it.
    package static let forgetfulness = Duration.milliseconds(1500)
    /// Time after the audio link in which a forgetful headset reports the volume that it fell back to.
    static let fallBackTime = Duration.milliseconds(500)
    /// Minimum interval of corrections: a headset may answer each with the same volume again.
    package static let correctionInterval = Duration.milliseconds(500)

    /// Sets the speaker volume. Sent when the headset supports remote volume; waits until the service level connection is
    /// established. Values are clamped to 0…15, and to the ceiling.
    package mutating func setSpeakerVolume(_ value: Int) -> [Action] {
        setVolume(.speaker, value)
    }

    /// Sets the microphone gain; otherwise as `setSpeakerVolume`.
    package mutating func setMicrophoneVolume(_ value: Int) -> [Action] {
        setVolume(.microphone, value)
    }

    private mutating func setVolume(_ direction: VolumeDirection, _ value: Int) -> [Action] {
        volume.wanted[direction] = min(max(value, 0), 15)
        volume.remembered[direction] = nil
        announceVolume(direction)
        return finish()
    }

    mutating func announceVolume(_ direction: VolumeDirection) {
        guard isOpen, connection.isEstablished, let value = volume.wanted[direction] else { return }
        volume.wanted[direction] = nil
        sendVolume(direction, value)
    }

    private var acceptsVolume: Bool { isHeadsetProfile || connection.features.contains(.remoteVolume) }

    /// Maximum of a volume.
    private func limit(of direction: VolumeDirection) -> Int {
        switch direction {
        case .speaker: configuration.speakerCeiling
        case .microphone: 15
        }
    }

    private mutating func sendVolume(_ direction: VolumeDirection, _ wanted: Int) {
        let value = min(wanted, limit(of: direction))
        // A headset that reported a too high volume supports volumes, whatever its features say.
        let isTooLoud = volume.known[direction].map { $0 > limit(of: direction) } ?? false
        guard acceptsVolume || isTooLoud else { return }
        switch direction {
        case .speaker:
            guard !configuration.quirks.softwareVolume else { return }
            sendUnsolicited(isHeadsetProfile ? .headsetSpeakerVolume(value) : .speakerVolume(value))
        case .microphone:
            guard !configuration.quirks.noMicrophoneVolume else { return }
            sendUnsolicited(isHeadsetProfile ? .headsetMicrophoneVolume(value) : .microphoneVolume(value))
        }
        volume.said(direction, value)
    }

    /// Schedules the repeated volumes after the audio link has opened.
    mutating func planVolumeResend(at now: Instant) {
        let delay = configuration.volumeResend ?? (configuration.quirks.forgetsVolume ? Self.forgetfulness : nil)
        guard let delay, !volume.known.isEmpty else { return }
        volume.stale = Set(volume.known.keys)
        if configuration.quirks.forgetsVolume, acceptsVolume {
            volume.remembered = volume.known
            volume.fallsBackUntil = now.advanced(by: Self.fallBackTime)
        }
        volume.resendAt = now.advanced(by: delay)
    }

    mutating func resendVolumeIfDue(at now: Instant) {
        if let due = volume.correctAt, due <= now { enforceCeiling(at: now) }
        guard let due = volume.resendAt, due <= now else { return }
        volume.resendAt = nil
        let remembered = volume.remembered
        volume.remembered = [:]
        for direction in [VolumeDirection.speaker, .microphone] {
            let known = volume.stale.contains(direction) ? volume.known[direction] : nil
            if let value = remembered[direction] ?? known { sendVolume(direction, value) }
        }
    }

    /// Lowers a headset that is louder than the ceiling, now or after the minimum interval.
    mutating func enforceCeiling(at now: Instant) {
        let ceiling = configuration.speakerCeiling
        guard isOpen, let value = volume.known[.speaker], value > ceiling else {
            volume.correctAt = nil
            return
        }
        guard connection.isEstablished else {
            volume.wanted[.speaker] = ceiling
            return
        }
        let due = volume.correctedAt?.advanced(by: Self.correctionInterval) ?? now
        guard due <= now else {
            volume.correctAt = due
            return
        }
        volume.correctAt = nil
        volume.correctedAt = now
        sendVolume(.speaker, ceiling)
    }

    mutating func respondAboutVolume(
        _ direction: VolumeDirection, _ command: ATCommand, at now: Instant
    ) throws(ATSyntaxError) -> Reply {
        guard command.form == .set else { return .refuse(.notSupported) }
        var parameters = command.parameters
        let value = try parameters.number(in: 0...15)
        try parameters.end()
        volume.wanted[direction] = nil
        volume.said(direction, value)
        if let end = volume.fallsBackUntil, end <= now { volume.remembered[direction] = nil }
        if volume.remembered[direction] == nil { tell(.volume(direction, min(value, limit(of: direction)))) }
        enforceCeiling(at: now)
        return .done
    }
}
