import BTCall
import BluetoothTypes
import CommandKit
import ControlLoop
import JSONText

extension Call {
    /// The call as the command line's JSON has it.
    var json: JSON {
        [
            "id": .string(id.description),
            "state": .string(state.rawValue),
            "direction": .string(direction.rawValue),
            "number": JSON(number),
            "name": JSON(name),
            "provider": JSON(provider),
            "index": JSON(index),
            "startedAt": JSON(startedAtMs.map { WallClock(milliseconds: $0).iso8601 }),
        ]
    }

    /// The link and the quality as the command line's JSON has them.
    var audioJSON: [(String, JSON)] {
        [
            ("ssrcs", .array(ssrcs.map { .integer(Int64($0)) })), ("link", link?.json ?? .null),
            ("quality", quality?.json ?? .null),
            ("totalQuality", totalQuality?.json ?? .null),
            ("audioProblem", JSON(audioProblem)), ("recording", JSON(isRecorded)),
        ]
    }

    /// The other party in words: `Alice (5550100)`.
    var party: String { Self.party(name: name, number: number) }

    static func party(name: String?, number: String?) -> String {
        switch (name, number) {
        case (let name?, let number?): "\(name) (\(number))"
        case (let name?, nil): name
        case (nil, let number?): number
        case (nil, nil): "unknown number"
        }
    }
}

extension CallLink {
    var json: JSON {
        [
            "device": .string(device.description), "handle": JSON(handle), "codec": JSON(codec),
            "packetBytes": JSON(packetBytes),
        ]
    }
}

extension CallQuality {
    var json: JSON {
        [
            "score": JSON(score),
            "durationMs": JSON(durationMs),
            "packets": JSON(packets),
            "lost": JSON(lost),
            "concealedMs": JSON(concealedMs),
            "droppedMs": JSON(droppedMs),
            "gaps": JSON(gaps),
            "jitterMs": .number(jitterMs),
            "driftPPM": .number(driftPPM),
            "retries": JSON(retries),
            "xruns": JSON(xruns),
        ]
    }
}

extension AudioDevice {
    /// The device as the command line's JSON has it.
    var json: JSON {
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
}

extension BridgeProblem {
    var json: JSON { ["id": .string(id), "what": .string(what), "remedy": .string(remedy)] }

    /// One line for people.
    var text: String { remedy.isEmpty ? what : "\(what): \(remedy)" }
}

extension BridgeStatus {
    /// The status as the command line's JSON has it.
    var json: JSON {
        [
            "state": .string(state.rawValue),
            "version": .string(version),
            "started": JSON(isStarted),
            "route": .string(route.description),
            "pending": .string(pending.description),
            "mode": JSON(mode),
            "codec": JSON(codec),
            "preferred": .string(preferred.description),
            "default": .string(defaultDevice.description),
            "selected": .string(selected.description),
            "reason": JSON(reason),
            "muted": JSON(isMuted),
            "interruptions": JSON(interruptions),
            "calls": .array(calls.map(\.json)),
            "problems": .array(problems.map(\.json)),
        ]
    }
}

extension RouteExplanation {
    var json: JSON {
        [
            "chosen": .string(chosen.description),
            "level": JSON(level),
            "reason": JSON(reason),
            "levels": .array(levels.map(\.json)),
            "next": next?.json ?? .null,
            "text": JSON(text),
        ]
    }
}

extension RouteExplanation.Next {
    var json: JSON {
        [
            "action": .string(action), "device": JSON(device),
            "remainingMs": JSON(remaining.map { Int($0.milliseconds) }),
        ]
    }
}

extension RouteExplanation.Level {
    var json: JSON {
        [
            "name": .string(name),
            "spec": JSON(spec),
            "candidate": JSON(candidate),
            "verdict": .string(verdict),
            "eligible": JSON(isEligible),
            "value": JSON(value),
            "limit": JSON(limit),
        ]
    }
}
