import BTCall
import BTCallJSON
import CommandKit
import ControlLoop
import JSONText

/// The environment of a hook of `btcall watch`.
///
/// All of ``names`` are always set, unused ones to an empty value, so that a hook never sees variables of another `btcall
/// watch` around it.
enum HookVariables {
    static let names = [
        "BTCALL_EVENT", "BTCALL_TIME", "BTCALL_CALL", "BTCALL_STATE", "BTCALL_STATUS", "BTCALL_DIRECTION",
        "BTCALL_NUMBER", "BTCALL_NAME", "BTCALL_PROVIDER", "BTCALL_DEVICE", "BTCALL_OLD_DEVICE", "BTCALL_REASON",
        "BTCALL_ADDRESS", "BTCALL_BUTTON", "BTCALL_SETTING", "BTCALL_VALUE", "BTCALL_ICON", "BTCALL_JSON",
    ]

    /// Members of an event's JSON whose variables have other names; nil: in BTCALL_JSON only.
    private static let members: [String: String?] = [
        "old": "BTCALL_OLD_DEVICE", "new": "BTCALL_DEVICE", "name": "BTCALL_SETTING",
        "callStatus": "BTCALL_STATUS", "score": "BTCALL_VALUE", "muted": "BTCALL_VALUE", "recording": "BTCALL_VALUE",
        "talkState": "BTCALL_VALUE", "key": nil, "devices": nil, "values": nil,
        "problems": nil,
    ]
    /// The same for members of a call.
    private static let callMembers: [String: String?] = [
        "index": nil, "startedAt": nil, "accountId": nil, "userId": nil, "callStatus": "BTCALL_STATUS",
    ]
    /// The same for a call when it was added: its state may have changed.
    private static let earlierMembers = callMembers.merging(["state": nil, "callStatus": nil]) { _, new in new }

    /// - Parameter call: the call of an event that carries only its id; nil if it is unknown, and for other events.
    static func values(of event: BridgeEvent, _ call: Call?, at time: WallClock) -> [String: String] {
        let json = event.json(at: time)
        var values = Dictionary(uniqueKeysWithValues: names.map { ($0, "") })
        if let call { add(call.json, earlierMembers, to: &values) }
        switch event {
        case .callAdded, .incomingCall: add(json, callMembers, to: &values)
        case .routeChanged(let old, let new, _):
            add(json, members, to: &values)
            // Device words, as on the bus.
            values["BTCALL_OLD_DEVICE"] = old.description
            values["BTCALL_DEVICE"] = new.description
        case .headsetEvent(_, _, let parameters):
            add(json, members, to: &values)
            values["BTCALL_VALUE"] = parameters.joined(separator: ",")
        default: add(json, members, to: &values)
        }
        values["BTCALL_EVENT"] = event.word
        values["BTCALL_JSON"] = text(json, of: event, at: time)
        return values
    }

    /// Cut-off JSON would be invalid: one that is too long is replaced by a short object about the same subject.
    private static func text(_ json: JSON, of event: BridgeEvent, at time: WallClock) -> String {
        let text = json.text()
        guard text.utf8.count > ControlLoop.longestVariable else { return text }
        let short: JSON = ["event": .string(event.word), "time": .string(time.iso8601), "cut": true]
        return short.text()
    }

    private static func add(_ json: JSON, _ names: [String: String?], to values: inout [String: String]) {
        guard case .object(let members) = json else { return }
        for member in members {
            let (key, value) = (member.name, member.value)
            if let name = names[key] ?? "BTCALL_" + key.uppercased() {
                values[name] = text(value)
            }
        }
    }

    private static func text(_ value: JSON) -> String {
        switch value {
        case .null: ""
        case .string(let text): text
        case .bool, .integer, .number, .array, .object: value.text()
        }
    }
}
