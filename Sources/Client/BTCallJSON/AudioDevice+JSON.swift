package import BTCall
package import JSONText

extension AudioDevice {
    /// The device as a JSON object of `btcall`.
    package var json: JSON {
        [
            "device": .string(choice.description),
            "kind": .string(kind),
            "address": JSON(address),
            "name": .string(name),
            "available": JSON(isAvailable),
            "unavailableBecause": JSON(unavailableBecause),
            "output": JSON(output),
            "input": JSON(input),
            "battery": JSON(battery),
            "speakerVolume": JSON(speakerVolume),
            "microphoneVolume": JSON(microphoneVolume),
            "microphoneMuted": isMicrophoneMuted.map { JSON($0) } ?? .null,
            "powerSource": JSON(powerSource),
            "enhancedSafety": isSafetyEnhanced.map { JSON($0) } ?? .null,
            "codecs": JSON(codecs),
            "codecReason": JSON(codecReason),
            "category": JSON(category),
            "state": .string(state),
            "mode": JSON(mode),
            "duplex": JSON(isDuplex),
            "rates": .array(rates.map { JSON($0) }),
            "inbandRing": JSON(hasInbandRing),
            "speakerVolumeMax": JSON(speakerVolumeMax),
            "microphoneVolumeMax": JSON(microphoneVolumeMax),
            "mediaState": JSON(mediaState?.rawValue),
            "mediaCodec": JSON(mediaCodec),
            "mediaVolume": JSON(mediaVolume),
            "reconnect": JSON(reconnect),
        ]
    }

    /// The volumes of a headset.
    package var volumes: JSON {
        [
            "device": .string(choice.description),
            "name": .string(name),
            "speakerVolume": JSON(speakerVolume),
            "speakerVolumeMax": JSON(speakerVolumeMax),
            "microphoneVolume": JSON(microphoneVolume),
            "microphoneVolumeMax": JSON(microphoneVolumeMax),
            "mediaVolume": JSON(mediaVolume),
        ]
    }
}

extension DeviceChoice {
    /// Null for none.
    package var json: JSON { self == .none ? .null : .string(description) }
}

extension Pairing.Device {
    /// The device as a JSON object of `btcall`.
    package var json: JSON {
        ["address": .string(address), "name": JSON(name), "rssi": JSON(rssi), "profiles": JSON(profiles)]
    }
}
