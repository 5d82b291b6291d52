import BluetoothTypes

/// +VGS and +VGM, both ways: 0…15, where 15 is the loudest.
extension AudioGateway {
    /// Sent when the headset has the feature remote volume; before the service level connection is established it waits.
    /// Values are clamped to 0…15.
    package mutating func setSpeakerVolume(_ value: Int) -> [Action] {
        setVolume(.speaker, value)
    }

    /// The same for the microphone gain.
    package mutating func setMicrophoneVolume(_ value: Int) -> [Action] {
        setVolume(.microphone, value)
    }

    private mutating func setVolume(_ direction: VolumeDirection, _ value: Int) -> [Action] {
        volumeWanted[direction] = min(max(value, 0), 15)
        announceVolume(direction)
        return finish()
    }

    mutating func announceVolume(_ direction: VolumeDirection) {
        guard isOpen, connection.isEstablished, let value = volumeWanted[direction] else { return }
        volumeWanted[direction] = nil
        guard connection.features.contains(.remoteVolume) else { return }
        switch direction {
        case .speaker: sendUnsolicited(.speakerVolume(value))
        case .microphone:
            if !configuration.quirks.noMicrophoneVolume { sendUnsolicited(.microphoneVolume(value)) }
        }
    }

    mutating func respondAboutVolume(_ direction: VolumeDirection, _ command: ATCommand) throws(ATSyntaxError) -> Reply
    {
        guard command.form == .set else { return .refuse(.notSupported) }
        var parameters = command.parameters
        let value = try parameters.number(in: 0...15)
        try parameters.end()
        volumeWanted[direction] = nil
        tell(.volume(direction, value))
        return .done
    }
}
