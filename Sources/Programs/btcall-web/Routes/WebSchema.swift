import JSONText

/// The objects of the answers: names and types of their fields, as docs/reference/JSON.md and its pages have them.
enum WebSchema {
    /// One object a line; a test compares them with the pages.
    private static let pages = """
        Active: active [call]
        Call: call call, state string, callStatus string, direction string, number string?, name string?, \
            provider string, index integer, startedAt time?, accountId string?, userId string?, icon string?
        CallDetails: call call, state string, callStatus string, direction string, number string?, name string?, \
            provider string, index integer, startedAt time?, accountId string?, userId string?, icon string?, \
            route device?, mode string?, reason string?, ssrcs [integer], link Link?, audioProblem string?, \
            quality Quality?, totalQuality Quality?, recording boolean, allowedRoutes [string]
        CallState: call call, state string
        Check: id string, outcome string, reason string?
        Connection: address address, connected boolean
        Device: device device, kind string, address address?, name string, available boolean, \
            unavailableBecause string?, output string?, input string?, battery integer?, speakerVolume integer?, \
            microphoneVolume integer?, microphoneMuted boolean?, powerSource string?, enhancedSafety boolean?, \
            codecs [string], codecReason string?, category string?, state string, mode string?, duplex boolean, \
            rates [integer], inbandRing boolean, speakerVolumeMax integer?, microphoneVolumeMax integer?, \
            mediaState string?, mediaCodec string?, mediaVolume integer?, reconnect string?
        Dialled: call call, number string
        DoNotDisturb: doNotDisturb boolean
        Doctor: checks [Check], findings [Finding], faults integer, warnings integer, notes integer
        Explanation: device device?, level string?, reason string?, levels [Level], next Next?, lines [string]
        Fallback: fallback device?
        Finding: check string, severity string, what string, seen string, remedy string, command string?
        Forgotten: address address, paired boolean
        Found: address address, name string?, rssi integer, profiles [string]
        Level: name string, spec string?, candidate device?, verdict string, eligible boolean, value string?, \
            limit string?
        Link: device device, handle integer?, codec string?, packetBytes integer?
        Muted: muted boolean
        Next: action string, device device?, remainingMilliseconds integer?
        PastCall: call call?, direction string, number string?, name string?, provider string, beganAt time, \
            startedAt time?, endedAt time, durationMilliseconds integer, reason string, missed boolean, \
            device device?
        Preferred: preferred device?
        Problem: id string, what string, remedy string
        Quality: score integer?, durationMilliseconds integer, packets integer, lost integer, \
            concealedMilliseconds integer, droppedMilliseconds integer, gaps integer, jitterMilliseconds number, \
            driftPPM number, retries integer, xruns integer
        RouteStep: time time, route device?, reason string
        Selected: selected device?
        Setting: key string, value string?, default string?, accepted string, effect string, origin string, \
            summary string
        Status: state string, version string, started boolean, route device?, pending device?, mode string?, \
            codec string?, preferred device?, fallback device?, selected device?, reason string?, muted boolean, \
            microphoneEnabled boolean, interruptions [string], calls [Call], problems [Problem]
        TestCall: call call?, direction string?, number string?, tones string?, tookPlace boolean, heard boolean, \
            answeredByPerson boolean, startedAt time?, endedAt time?, talkMilliseconds integer, reason string?, \
            route device?, routes [RouteStep], blocksReceived integer, blocksSent integer, blocksRefused integer, \
            gaps integer, longestGapMilliseconds integer, file string?
        Token: token string, scopes [string], subject string?, audience string, expiresAt time
        Tones: call call, tones string
        Trust: address address, trusted boolean
        Volumes: device device, name string, speakerVolume integer?, speakerVolumeMax integer?, \
            microphoneVolume integer?, microphoneVolumeMax integer?, mediaVolume integer?
        """

    /// Objects of this server only: docs/inside/Web.md.
    private static let own = """
        Error: error ErrorFacts
        ErrorFacts: code string, name string?, message string
        Pairing: state string, searching boolean, found [Found]
        Server: version string, api integer, scopes [string], expiresAt time?
        """

    struct Field: Hashable, Sendable {
        let name: String
        let type: String
    }

    /// Fields of each object that is on the pages.
    static var objectsOfPages: [String: [Field]] { read(pages) }

    /// Fields of each object.
    static var objects: [String: [Field]] { read(pages + "\n" + own) }

    private static func read(_ text: String) -> [String: [Field]] {
        var objects: [String: [Field]] = [:]
        for line in text.split(separator: "\n") {
            let parts = line.split(separator: ":", maxSplits: 1)
            objects[String(parts[0])] = parts[1].split(separator: ",").map { field in
                let words = field.split(separator: " ")
                return Field(name: String(words[0]), type: String(words[1]))
            }
        }
        return objects
    }

    /// The schema of a type: `string`, `time?`, `[Call]`.
    static func json(_ type: String) -> JSON {
        if type.hasSuffix("?") {
            return ["anyOf": [json(String(type.dropLast())), ["type": "null"]]]
        }
        if type.hasPrefix("[") { return ["type": "array", "items": json(String(type.dropFirst().dropLast()))] }
        switch type {
        case "string", "integer", "number", "boolean", "object": return ["type": .string(type)]
        case "time": return ["type": "string", "format": "date-time"]
        case "call": return ["type": "string", "format": "uuid"]
        case "address": return ["type": "string", "pattern": "^([0-9A-F]{2}:){5}[0-9A-F]{2}$"]
        case "device":
            return [
                "type": "string",
                "pattern": "^(speakerphone|wiredHeadset|earpiece|bluetooth(:([0-9A-F]{2}:){5}[0-9A-F]{2})?)$",
            ]
        default: return ["$ref": .string("#/components/schemas/\(type)")]
        }
    }

    /// The schema of an object with these fields, all of which are always present.
    static func object(_ fields: [Field]) -> JSON {
        [
            "type": "object", "required": JSON(fields.map(\.name)),
            "properties": JSON(fields.map { ($0.name, json($0.type)) }),
        ]
    }
}
