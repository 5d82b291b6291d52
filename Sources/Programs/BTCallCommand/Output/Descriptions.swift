import BTCall
import BluetoothTypes
import CommandKit
import ControlLoop
import JSONText

extension Call {
    /// The call as a JSON object of the command line.
    var json: JSON { JSON(members) }

    var members: [(String, JSON)] {
        [
            ("call", .string(id.description)),
            ("state", .string(state.rawValue)),
            ("direction", .string(direction.rawValue)),
            ("number", JSON(number)),
            ("name", JSON(name)),
            ("provider", JSON(provider)),
            ("index", JSON(index)),
            ("startedAt", JSON(startedAtMs.map { WallClock(milliseconds: $0).iso8601 })),
        ]
    }

    /// Output of a verb that changes a call.
    func json(_ state: State) -> JSON {
        ["call": .string(id.description), "state": .string(state.rawValue)]
    }

    /// The link and the quality as JSON members of the command line.
    var audioJSON: [(String, JSON)] {
        [
            ("ssrcs", .array(ssrcs.map { .integer(Int64($0)) })), ("link", link?.json ?? .null),
            ("quality", quality?.json ?? .null),
            ("totalQuality", totalQuality?.json ?? .null),
            ("audioProblem", JSON(audioProblem)), ("recording", JSON(isRecorded)),
        ]
    }

    /// The other party in words, for example `Alice (5550100)`.
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
            "durationMilliseconds": JSON(durationMs),
            "packets": JSON(packets),
            "lost": JSON(lost),
            "concealedMilliseconds": JSON(concealedMs),
            "droppedMilliseconds": JSON(droppedMs),
            "gaps": JSON(gaps),
            "jitterMilliseconds": .number(jitterMs),
            "driftPPM": .number(driftPPM),
            "retries": JSON(retries),
            "xruns": JSON(xruns),
        ]
    }
}

extension AudioDevice {
    /// The device as a JSON object of the command line.
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

extension DeviceChoice {
    /// Null for none.
    var json: JSON { self == .none ? .null : .string(description) }
}

extension BridgeProblem {
    var json: JSON { ["id": .string(id), "what": .string(what), "remedy": .string(remedy)] }

    /// One line for people.
    var text: String { remedy.isEmpty ? what : "\(what): \(remedy)" }
}

extension BridgeStatus {
    /// The status as a JSON object of the command line.
    var json: JSON {
        [
            "state": .string(state.rawValue),
            "version": .string(version),
            "started": JSON(isStarted),
            "route": route.json,
            "pending": pending.json,
            "mode": JSON(mode),
            "codec": JSON(codec),
            "preferred": preferred.json,
            "fallback": defaultDevice.json,
            "selected": selected.json,
            "reason": JSON(reason),
            "muted": JSON(isMuted),
            "microphoneEnabled": JSON(isMicrophoneEnabled),
            "interruptions": JSON(interruptions),
            "calls": .array(calls.map(\.json)),
            "problems": .array(problems.map(\.json)),
        ]
    }
}

extension RouteExplanation {
    var json: JSON {
        [
            "device": chosen.json,
            "level": JSON(level),
            "reason": JSON(reason),
            "levels": .array(levels.map(\.json)),
            "next": next?.json ?? .null,
            "lines": JSON(text),
        ]
    }
}

extension RouteExplanation.Next {
    var json: JSON {
        [
            "action": .string(action), "device": JSON(device),
            "remainingMilliseconds": JSON(remaining.map { Int($0.milliseconds) }),
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
