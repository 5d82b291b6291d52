import BTCall
import BTCallJSON
import JSONText

extension WebSession {
    static let providerWords = ["register", "unregister", "reportIncoming", "reportOutgoing", "update", "revokeTalk"]
    private static let talkModes = Dictionary(uniqueKeysWithValues: TalkMode.allCases.map { ($0.rawValue, $0) })
    private static let keyCharacters = Set("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_")

    /// Carries out a request of a telephony application.
    func carryOut(_ request: MessageFields) async throws -> JSON {
        switch request.name {
        case "register": return try await register(request)
        case "unregister":
            try Self.check(request, [])
            await (try service.providers.registration(of: self)).unregister()
            return [:]
        case "reportIncoming":
            try Self.check(request, ["number", "name", "routes"])
            let provider = try service.providers.registration(of: self)
            let call = try await provider.reportIncoming(
                number: try request.text("number"), name: try request.optionalText("name"),
                routes: try Self.routes(request))
            return try await service.call(call.description).json
        case "reportOutgoing":
            try Self.check(request, ["number", "name", "routes", "state"])
            let provider = try service.providers.registration(of: self)
            let state =
                try request.optionalText("state") == nil
                ? .dialing : request.word("state", ["dialing": Call.State.dialing, "alerting": .alerting])
            let call = try await provider.reportOutgoing(
                number: try request.text("number"), name: try request.optionalText("name"), state,
                routes: try Self.routes(request))
            return try await service.call(call.description).json
        case "revokeTalk":
            try Self.check(request, ["call"])
            let (provider, call) = try await owned(request)
            try await provider.revokeTalk(call.id)
            return [:]
        default: return try await update(request)
        }
    }

    private func register(_ request: MessageFields) async throws -> JSON {
        try Self.check(request, ["name", "key", "capabilities", "schemes", "talk"])
        let (name, key) = (try request.text("name"), try request.text("key"))
        guard (16...64).contains(key.count), key.allSatisfy(Self.keyCharacters.contains) else {
            throw WebError(
                400, "badRequest", "register: \"key\" is not accepted; it is 16 to 64 of A-Z, a-z, 0-9, - and _")
        }
        var capabilities: Set<CallProviderDescription.Capability> = []
        let known = CallProviderDescription.Capability.allCases.filter { $0 != .video }
        for word in try request.optionalWords("capabilities") ?? [] {
            guard let capability = known.first(where: { $0.rawValue == word }) else {
                let accepted = known.map(\.rawValue).joined(separator: ", ")
                throw WebError(400, "badRequest", "register: \"capabilities\": accepted: \(accepted)")
            }
            capabilities.insert(capability)
        }
        let talk: TalkMode? = try request.optionalText("talk") == nil ? nil : request.word("talk", Self.talkModes)
        let ids = try await service.providers.register(
            self, name: name, key: key, capabilities, schemes: try request.optionalWords("schemes") ?? [], talk: talk)
        let calls = try await service.bridge.calls.list().filter { ids.contains($0.id) }
        return ["calls": .array(calls.map(\.json))]
    }

    private func update(_ request: MessageFields) async throws -> JSON {
        try Self.check(request, ["call", "state", "reason"])
        let (provider, call) = try await owned(request)
        let states: [String: Call.State] = ["alerting": .alerting, "active": .active, "held": .held, "ended": .ended]
        let state = try request.word("state", states)
        try await provider.update(call.id, state, try Self.reason(request))
        return call.json(state)
    }

    /// The page's call that a request names.
    private func owned(_ request: MessageFields) async throws -> (WebProvider, Call) {
        let call = try await service.call(try request.text("call"))
        guard let provider = service.providers.owner(of: call.id), provider.page === self else {
            throw WebError(409, "notProvider", "the call belongs to another application")
        }
        return (provider, call)
    }

    /// - Throws: for anything but kinds of device.
    static func routes(_ fields: MessageFields) throws -> Set<Call.Route>? {
        guard let words = try fields.optionalWords("routes") else { return nil }
        let routes = words.compactMap(Call.Route.init(rawValue:))
        guard routes.count == words.count, !routes.isEmpty else {
            let accepted = Call.Route.allCases.map(\.rawValue).joined(separator: ", ")
            throw WebError(400, "badRequest", "\(fields.name): \"routes\": accepted: at least one of \(accepted)")
        }
        return Set(routes)
    }

    /// The reason of an end; nil without one.
    static func reason(_ fields: MessageFields) throws -> Call.EndReason? {
        guard try fields.optionalText("reason") != nil else { return nil }
        return try fields.word(
            "reason", Dictionary(uniqueKeysWithValues: Call.EndReason.allCases.map { ($0.rawValue, $0) }))
    }
}
