package import BTCall
import BluetoothTypes
package import JSONText

extension BridgeProblem {
    package var json: JSON { ["id": .string(id), "what": .string(what), "remedy": .string(remedy)] }
}

extension BridgeStatus {
    /// The status as a JSON object of `btcall`.
    package var json: JSON {
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
    package var json: JSON {
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
    package var json: JSON {
        [
            "action": .string(action), "device": JSON(device),
            "remainingMilliseconds": JSON(remaining.map { Int($0.milliseconds) }),
        ]
    }
}

extension RouteExplanation.Level {
    package var json: JSON {
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
