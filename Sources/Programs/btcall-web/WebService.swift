import BTCall
import BluetoothTypes
import ControlLoop
import JSONText
import Logging
import NIOHTTP1
import WebTokens

/// Answers requests: limits, tokens, the route table, and files.
@ControlPlane
final class WebService: WebAnswering {
    let bridge: CallBridge
    let settings: WebSettings
    let events: EventHub
    let providers: ProviderTable
    let pushes: CallPush
    let logger: Logger
    private let keys: TokenKeys?
    private let files: StaticFiles
    private let pages: StaticFiles?
    private var rate: RateLimit
    private var streams: [ObjectIdentifier: EventSubscription] = [:]
    /// Whether a test call is being made.
    var isTesting = false

    /// - Parameter keys: nil refuses every token.
    init(bridge: CallBridge, settings: WebSettings, keys: TokenKeys?, logger: Logger) {
        self.bridge = bridge
        self.settings = settings
        self.keys = keys
        self.logger = logger
        events = EventHub(bridge: bridge)
        providers = ProviderTable(bridge: bridge)
        pushes = CallPush(bridge: bridge, table: providers)
        files = StaticFiles(folder: settings.files)
        pages = settings.pages.map { StaticFiles(folder: $0) }
        rate = RateLimit(perSecond: settings.limits.requestsPerSecond)
    }

    // MARK: Requests

    func answer(_ request: WebRequest) async -> WebAnswer {
        var answer: WebAnswer
        var origin: String?
        do {
            try checkRate(request)
            try checkHost(request)
            origin = try allowedOrigin(request)
            answer = try await respond(request)
        } catch let error as WebError {
            answer = .response(WebResponse(error))
        } catch let error as BridgeError {
            answer = .response(WebResponse(WebError(error)))
        } catch let error as MessageRefusal {
            answer = .response(WebResponse(WebError(error)))
        } catch {
            logger.error("\(request.method) \(PrintableText.line(request.path)): \(error)")
            answer = .response(WebResponse(WebError(500, "failed", "the request failed: see the log of btcall-web")))
        }
        return origin.map { Self.adding($0, to: answer) } ?? answer
    }

    private func respond(_ request: WebRequest) async throws -> WebAnswer {
        guard isAPI(request.path) else { return try file(request) }
        if request.method == "OPTIONS" { return try preflight(request) }
        guard let (route, parameters) = RouteTable.find(request.method, request.path) else {
            throw unknown(request)
        }
        let principal = try principal(of: request, for: route)
        let body = try body(of: request, for: route)
        return try await route.handler(
            RouteCall(service: self, request: request, principal: principal, parameters: parameters, body: body))
    }

    private func isAPI(_ path: String) -> Bool { path == "/v1" || path.hasPrefix("/v1/") || path == "/metrics" }

    private func unknown(_ request: WebRequest) -> WebError {
        let methods = RouteTable.methods(of: request.path)
        guard methods.isEmpty else {
            let allowed = methods.joined(separator: ", ")
            return WebError(
                405, "badMethod", "the method is not accepted here; accepted: \(allowed)", headers: [("Allow", allowed)]
            )
        }
        return WebError(404, "noSuchPath", "there is no such path: GET /v1/openapi.json describes all")
    }

    // MARK: Limits

    private func checkRate(_ request: WebRequest) throws(WebError) {
        let seconds = rate.request(of: request.peer, at: ControlLoop.now)
        guard seconds == 0 else {
            throw WebError(
                429, "tooMany", "more than \(settings.limits.requestsPerSecond) requests a second: wait \(seconds) s",
                headers: [("Retry-After", String(seconds))])
        }
    }

    /// A web page whose own name leads to this machine (DNS rebinding) sends that name.
    private func checkHost(_ request: WebRequest) throws(WebError) {
        guard request.peer.isNetwork else { return }
        let hosts = request.headers["host"]
        guard hosts.count <= 1, let host = hosts.first, settings.isOwn(host: host) else {
            throw WebError(
                421, "badHost",
                "Host is not a name of this machine; accepted: its addresses, localhost, and [web] hosts")
        }
    }

    /// - Returns: the origin of another server that may use this one; nil for its own pages and for programs.
    private func allowedOrigin(_ request: WebRequest) throws(WebError) -> String? {
        guard isAPI(request.path), let origin = request.header("origin") else { return nil }
        if settings.origins.contains(origin) { return origin }
        let host = request.header("host") ?? ""
        guard ["http://\(host)", "https://\(host)"].contains(origin) else {
            throw WebError(
                403, "badOrigin",
                "pages of that origin are not accepted; [web] origins of web.conf lists the accepted ones")
        }
        return nil
    }

    private func preflight(_ request: WebRequest) throws(WebError) -> WebAnswer {
        let methods = RouteTable.methods(of: request.path)
        guard !methods.isEmpty else { throw unknown(request) }
        var response = WebResponse(204)
        response.headers = [
            ("Access-Control-Allow-Methods", methods.joined(separator: ", ")),
            ("Access-Control-Allow-Headers", "Authorization, Content-Type"), ("Access-Control-Max-Age", "600"),
            ("Allow", methods.joined(separator: ", ")),
        ]
        return .response(response)
    }

    private static func adding(_ origin: String, to answer: WebAnswer) -> WebAnswer {
        let fields = [(name: "Access-Control-Allow-Origin", value: origin), (name: "Vary", value: "Origin")]
        switch answer {
        case .response(var response):
            response.headers += fields
            return .response(response)
        case .stream(let headers, let start): return .stream(headers: headers + fields, start: start)
        }
    }

    // MARK: Tokens

    private static let noOne = WebPrincipal(user: .max, isMember: false)

    private func principal(of request: WebRequest, for route: Route) throws(WebError) -> WebPrincipal {
        guard let scope = route.scope else { return Self.noOne }
        if case .scopeOrSignature = route.access, let signature = request.header("btcall-signature") {
            return try principal(signature: signature, of: request)
        }
        let principal = try principal(of: request)
        guard principal.allows(scope) else { throw Self.noScope(scope) }
        return principal
    }

    static func noScope(_ scope: WebScope) -> WebError {
        WebError(403, "noScope", "this needs the scope \(scope.rawValue)")
    }

    /// - Throws: 401 without a token, or with one that is refused.
    func principal(of request: WebRequest) throws(WebError) -> WebPrincipal {
        if let header = request.header("authorization") {
            let words = header.split(separator: " ", omittingEmptySubsequences: true)
            guard words.count == 2, words[0].lowercased() == "bearer" else {
                throw Self.unauthorized("noToken", "Authorization is not accepted; it is Bearer TOKEN")
            }
            return try principal(token: words[1], from: request.peer)
        }
        guard case .local(let user, let isMember) = request.peer else {
            throw Self.unauthorized(
                "noToken", "a token is needed: Authorization: Bearer TOKEN (btcall web token makes one)")
        }
        return WebPrincipal(user: user, isMember: isMember)
    }

    func principal(token: some StringProtocol, from peer: WebPeer) throws(WebError) -> WebPrincipal {
        guard let keys else {
            throw Self.unauthorized("badToken", "no token is accepted: btcall-web has neither secret nor public keys")
        }
        do throws(TokenRefusal) {
            return WebPrincipal(try keys.verify(token, now: WallClock.now.milliseconds / 1000))
        } catch {
            logger.notice("\(peer): token refused (\(error.code)): \(error)")
            throw Self.unauthorized("badToken", "\(error)")
        }
    }

    /// A program that signs what it pushes.
    private func principal(signature: String, of request: WebRequest) throws(WebError) -> WebPrincipal {
        guard let keys else { throw WebError(403, "badSignature", "no signature is accepted: there is no push secret") }
        let now = WallClock.now.milliseconds / 1000
        let time: Int64
        do throws(TokenRefusal) {
            time = try keys.verifySignature(signature, body: request.body, now: now)
        } catch {
            logger.notice("\(request.peer): signature refused (\(error.code)): \(error)")
            throw WebError(403, "badSignature", "\(error)")
        }
        try pushes.use(signature, of: time, at: now)
        return WebPrincipal(signedBy: "push")
    }

    private static func unauthorized(_ code: String, _ message: String) -> WebError {
        WebError(401, code, message, headers: [("WWW-Authenticate", "Bearer realm=\"btcall\"")])
    }

    /// Makes a token for another client. Who may ask can read the secret: a client on the network cannot renew its own.
    func token(_ call: RouteCall) throws -> JSON {
        guard !call.request.peer.isNetwork else {
            throw WebError(403, "accessDenied", "tokens are made on the Unix socket, and by btcall web token")
        }
        let words = try call.body.optionalWords("scopes") ?? []
        let scopes = Set(words.compactMap(WebScope.init(rawValue:)))
        guard words.allSatisfy({ WebScope(rawValue: $0) != nil }) else {
            throw WebError(400, "invalidArgument", "scopes: accepted: \(WebScope.accepted)")
        }
        let (subject, life) = (try call.body.optionalText("subject"), try call.body.optionalNumber("seconds") ?? 3600)
        let now = WallClock.now.milliseconds / 1000
        do throws(TokenKeyError) {
            guard let keys else { throw .noSecret }
            let token = try keys.mint(scopes, subject: subject, seconds: Int64(life), now: now)
            logger.info("\(call.principal.name): token made for \(PrintableText.line(subject ?? "no name")), \(life) s")
            let end = WallClock(milliseconds: (now + Int64(life)) * 1000).iso8601
            return keys.json(token, scopes, subject: subject, end: end)
        } catch {
            guard error == .noSecret else { throw WebError(400, "invalidArgument", "\(error)") }
            throw WebError(501, "notSupported", "no token can be made: there is no secret at \(settings.secret)")
        }
    }

    // MARK: Bodies

    private func body(of request: WebRequest, for route: Route) throws -> MessageFields {
        guard let fields = route.body else {
            guard request.body.isEmpty else {
                throw WebError(400, "badRequest", "\(request.method) \(route.path) has no body")
            }
            return try MessageFields("body", .object([]))
        }
        let isOptional = fields.allSatisfy { !$0.isRequired }
        if request.body.isEmpty, isOptional { return try MessageFields("body", .object([])) }
        let type = request.header("content-type")?.prefix { $0 != ";" }.lowercased() ?? ""
        guard type.filter({ $0 != " " }) == "application/json" else {
            throw WebError(415, "badMediaType", "Content-Type is not accepted; it is application/json")
        }
        return try Self.fields(request.body, fields)
    }

    /// - Throws: ``WebError`` for anything but an object with these fields.
    static func fields(_ bytes: [UInt8], _ fields: [Route.Field]) throws -> MessageFields {
        let json: JSON
        do throws(JSONError) {
            json = try JSON(reading: bytes, rules: JSONRules(bytes: WebRequest.longestBody, depth: 8))
        } catch {
            throw WebError(400, "badRequest", "the body is no JSON: \(error)")
        }
        guard case .object(let members) = json else { throw WebError(400, "badRequest", "the body is no JSON object") }
        let accepted = fields.map(\.name)
        if let unknown = members.first(where: { !accepted.contains($0.name) }) {
            throw WebError(
                400, "badRequest",
                "body: \"\(PrintableText.line(unknown.name))\" is not known; it has \(accepted.joined(separator: ", "))"
            )
        }
        if let missing = fields.first(where: { $0.isRequired && members[$0.name] == nil }) {
            throw WebError(400, "badRequest", "body: \"\(missing.name)\" is missing: \(missing.meaning)")
        }
        for field in fields { if let value = members[field.name] { try check(value, field) } }
        return try MessageFields("body", json)
    }

    private static func check(_ value: JSON, _ field: Route.Field) throws(WebError) {
        switch (field.type, value, field.range) {
        case ("boolean", .bool, _): break
        case ("boolean", _, _): throw WebError(400, "badRequest", "body: \(field.name) is no boolean")
        case (_, .integer(let number), let range?) where !range.contains(Int(clamping: number)):
            throw WebError(
                400, "invalidArgument",
                "\(field.name) is \(number); accepted: \(range.lowerBound) to \(range.upperBound)")
        case (_, .string(let text), let range?) where !range.contains(text.unicodeScalars.count):
            throw WebError(
                400, "invalidArgument",
                "\(field.name) has \(text.unicodeScalars.count) characters; accepted: \(range.lowerBound) to "
                    + "\(range.upperBound)")
        default: break
        }
    }

    // MARK: Files

    private func file(_ request: WebRequest) throws(WebError) -> WebAnswer {
        guard request.method == "GET" else {
            throw WebError(
                405, "badMethod", "the method is not accepted here; accepted: GET", headers: [("Allow", "GET")])
        }
        let known = request.header("if-none-match")
        if let pages, request.path.hasPrefix("/pages/") {
            return .response(try pages.response(String(request.path.dropFirst("/pages".count)), ifNot: known))
        }
        return .response(try files.response(request.path, ifNot: known))
    }

    // MARK: Calls

    func call(_ id: String) async throws -> Call { try find(id, among: try await bridge.calls.list()) }

    func find(_ id: String, among calls: [Call]) throws(WebError) -> Call {
        guard let call = calls.first(where: { $0.id.description == id }) else {
            throw WebError(404, "noSuchCall", "there is no such call, or it has ended: GET /v1/calls lists all")
        }
        return call
    }

    // MARK: Streams

    func stream(_ call: RouteCall) throws(WebError) -> WebAnswer {
        let (principal, wantsLevels) = (call.principal, call.request.query["levels"] == "true")
        let isNetwork = call.request.peer.isNetwork
        let headers = [
            (name: "Content-Type", value: "text/event-stream"), (name: "Cache-Control", value: "no-store"),
            (name: "X-Accel-Buffering", value: "no"),
        ]
        return .stream(headers: headers) { [weak self] outlet in
            outlet.write("retry: 1000\n\n")
            guard let self else { return outlet.close(1001, "the server ends") }
            let subscription = EventSubscription(
                outlet, principal, wantsLevels: wantsLevels, keepsAlive: isNetwork)
            streams[ObjectIdentifier(outlet)] = subscription
            events.add(subscription)
        }
    }

    func gone(_ outlet: WebOutlet) {
        guard let subscription = streams.removeValue(forKey: ObjectIdentifier(outlet)) else { return }
        events.remove(subscription)
    }

    func refusal(ofUpgrade request: WebRequest) async -> WebError? {
        do throws(WebError) {
            guard request.path == "/v1/socket", request.method == "GET" else { throw unknown(request) }
            try checkRate(request)
            try checkHost(request)
            _ = try allowedOrigin(request)
            if request.header("authorization") != nil || !request.peer.isNetwork {
                guard try principal(of: request).allows(.read) else { throw Self.noScope(.read) }
            }
            return nil
        } catch {
            return error
        }
    }

    func opened(_ outlet: WebOutlet, _ request: WebRequest) -> any WebSocketReceiving {
        WebSession(self, outlet, request)
    }
}

extension WebError {
    init(_ refusal: MessageRefusal) {
        switch refusal {
        case .malformed(let text), .unsupported(let text): self.init(400, "badRequest", text)
        }
    }
}
