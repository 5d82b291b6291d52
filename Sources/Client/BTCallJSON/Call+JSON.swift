package import BTCall
import ControlLoop
package import JSONText

extension Call {
    /// The call as a JSON object of `btcall`.
    package var json: JSON { JSON(members) }

    package var members: [(String, JSON)] {
        [
            ("call", .string(id.description)),
            ("state", .string(state.rawValue)),
            ("callStatus", .string(status.rawValue)),
            ("direction", .string(direction.rawValue)),
            ("number", JSON(number)),
            ("name", JSON(name)),
            ("provider", JSON(provider)),
            ("index", JSON(index)),
            ("startedAt", JSON(startedAtMs.map { WallClock(milliseconds: $0).iso8601 })),
            ("accountId", JSON(account.accountID)), ("userId", JSON(account.userID)), ("icon", JSON(icon)),
        ]
    }

    /// Output of a verb that changes a call.
    package func json(_ state: State) -> JSON {
        ["call": .string(id.description), "state": .string(state.rawValue)]
    }

    /// The link and the quality as JSON members of `btcall`.
    package var audioJSON: [(String, JSON)] {
        [
            ("ssrcs", .array(ssrcs.map { .integer(Int64($0)) })), ("link", link?.json ?? .null),
            ("quality", quality?.json ?? .null),
            ("totalQuality", totalQuality?.json ?? .null),
            ("audioProblem", JSON(audioProblem)), ("recording", JSON(isRecorded)),
        ]
    }

    /// The call with its route, its link and its quality.
    ///
    /// - Parameter status: of the same moment.
    package func details(_ status: BridgeStatus) -> JSON {
        let route: [(String, JSON)] = [
            ("route", status.route.json), ("mode", JSON(status.mode)), ("reason", JSON(status.reason)),
        ]
        let kinds: [(String, JSON)] = [("allowedRoutes", .array(routes.map { .string($0.rawValue) }))]
        return JSON(members + route + audioJSON + kinds)
    }
}

extension CallLink {
    package var json: JSON {
        [
            "device": .string(device.description), "handle": JSON(handle), "codec": JSON(codec),
            "packetBytes": JSON(packetBytes),
        ]
    }
}

extension CallQuality {
    package var json: JSON {
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

extension LoggedCall {
    /// The call as a JSON object of `btcall`.
    package var json: JSON {
        func time(_ milliseconds: Int64) -> JSON { .string(WallClock(milliseconds: milliseconds).iso8601) }
        return [
            "call": JSON(id?.description), "direction": .string(direction.rawValue), "number": JSON(number),
            "name": JSON(name), "provider": .string(provider), "beganAt": time(beganMs),
            "startedAt": answeredMs.map(time) ?? .null, "endedAt": time(endedMs),
            "durationMilliseconds": JSON(Int(durationMs)),
            "reason": .string(reason), "missed": JSON(isMissed), "device": JSON(device),
        ]
    }
}
