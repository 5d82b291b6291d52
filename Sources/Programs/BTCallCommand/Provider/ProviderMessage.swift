import BTCall
import CommandKit
import JSONText

/// One input line of `btcall provider`.
enum ProviderMessage: Hashable {
    /// The outcome of a request; without a text it was carried out.
    case reply(Int, error: String?)
    /// - routes: the kinds of device that the call may use; nil for all.
    case incoming(number: String, name: String?, routes: Set<Call.Route>?)
    /// - state: `.dialing` or `.alerting`.
    case outgoing(number: String, name: String?, Call.State, routes: Set<Call.Route>?)
    /// - call: its id or the beginning of it; nil for the only call.
    case update(Call.State, call: String?, Call.EndReason?)

    private static let kinds = """
        {"id":1,"ok":true}, {"id":1,"error":"why"}, {"report":"incoming","number":"1"} or {"update":"active"}
        """
    static let states: [String: Call.State] = [
        "alerting": .alerting, "active": .active, "held": .held, "ended": .ended,
    ]

    /// - Throws: `MessageRefusal.malformed` with the error and the accepted form.
    init(line: [UInt8]) throws(MessageRefusal) {
        let fields = try MessageFields(json: line, "line")
        let keys = Set(fields.keys)
        let given = ["id", "report", "update"].filter { keys.contains($0) }
        guard given.count == 1 else { throw .malformed("one of these is expected: \(Self.kinds)") }
        switch given[0] {
        case "id": self = try Self.reply(fields.named("reply"))
        case "report": self = try Self.report(fields.named("report"))
        default: self = try Self.update(fields.named("update"))
        }
    }

    private static func reply(_ fields: MessageFields) throws(MessageRefusal) -> ProviderMessage {
        try only(["id", "ok", "error"], in: fields)
        let id = try fields.number("id")
        let error = try fields.optionalText("error")
        if let isDone = try fields.optionalFlag("ok") {
            guard isDone == (error == nil) || !isDone else {
                throw .malformed("reply: \"ok\" is true, and there is an \"error\"")
            }
            return .reply(id, error: isDone ? nil : error ?? "refused")
        }
        guard let error else { throw .malformed("reply: \"ok\":true or \"error\":\"why\" is expected") }
        return .reply(id, error: error)
    }

    private static func report(_ fields: MessageFields) throws(MessageRefusal) -> ProviderMessage {
        let isIncoming = try fields.word("report", ["incoming": true, "outgoing": false])
        try only(["report", "number", "name", "routes"] + (isIncoming ? [] : ["state"]), in: fields)
        let number = try fields.optionalTextOrNumber("number") ?? ""
        let name = try fields.optionalText("name")
        let routes = try routes(fields)
        if isIncoming { return .incoming(number: number, name: name, routes: routes) }
        guard !number.isEmpty else { throw .malformed("report: \"number\" is missing: a string") }
        let state: Call.State =
            try fields.optionalText("state") == nil
            ? .dialing : fields.word("state", ["dialing": .dialing, "alerting": .alerting])
        return .outgoing(number: number, name: name, state, routes: routes)
    }

    private static func routes(_ fields: MessageFields) throws(MessageRefusal) -> Set<Call.Route>? {
        guard let words = try fields.optionalWords("routes") else { return nil }
        let accepted = Call.Route.allCases.map(\.rawValue).joined(separator: ", ")
        var routes: Set<Call.Route> = []
        for word in words {
            guard let route = Call.Route(rawValue: word) else {
                throw .malformed("report: \"routes\": one of \(accepted) expected, not \"\(word)\"")
            }
            routes.insert(route)
        }
        guard !routes.isEmpty else {
            throw .malformed("report: \"routes\" is empty; accepted: at least one of \(accepted)")
        }
        return routes
    }

    private static func update(_ fields: MessageFields) throws(MessageRefusal) -> ProviderMessage {
        try only(["update", "call", "reason"], in: fields)
        let state = try fields.word("update", states)
        let reasons = Dictionary(uniqueKeysWithValues: Call.EndReason.allCases.map { ($0.rawValue, $0) })
        let reason = try fields.optionalText("reason") == nil ? nil : fields.word("reason", reasons)
        guard reason == nil || state == .ended else {
            throw .malformed("update: a \"reason\" belongs to \"update\":\"ended\"")
        }
        return .update(state, call: try fields.optionalText("call"), reason)
    }

    private static func only(_ keys: [String], in fields: MessageFields) throws(MessageRefusal) {
        guard let unknown = fields.keys.first(where: { !keys.contains($0) }) else { return }
        throw .malformed("\(fields.name): \"\(unknown)\" is not known; it has \(keys.joined(separator: ", "))")
    }
}
