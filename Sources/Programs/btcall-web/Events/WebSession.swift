import BTCall
import BTCallJSON
import ControlLoop
import JSONText
import WebTokens

/// One WebSocket: its token, its events, and its part as a telephony application.
@ControlPlane
final class WebSession: WebSocketReceiving {
    /// Time for the first message of a client whose request had no token.
    private static let authenticationTimeout = Duration.seconds(5)
    private static let mostMistakes = 10
    private static let mostRequests = 32

    let service: WebService
    private let outlet: WebOutlet
    private let request: WebRequest
    private var subscription: EventSubscription?
    private var deadline: Timer?
    private var refresh: Timer?
    private var mistakes = 0
    private var isClosed = false
    /// Requests that wait for earlier ones.
    private var requests: [(id: Int, request: MessageFields)] = []
    private var runner: Task<Void, Never>?

    init(_ service: WebService, _ outlet: WebOutlet, _ request: WebRequest) {
        self.service = service
        self.outlet = outlet
        self.request = request
        // The request was accepted: it fails only when its token has expired since.
        if request.header("authorization") != nil || !request.peer.isNetwork,
            let principal = try? service.principal(of: request)
        {
            begin(principal)
        } else {
            deadline = ControlLoop.shared.schedule(after: Self.authenticationTimeout) { [weak self] in
                self?.outlet.close(1008, "no authenticate within 5 s")
            }
        }
    }

    func closed() {
        guard !isClosed else { return }
        isClosed = true
        closeSubscription()
        requests = []
        service.providers.closed(self)
    }

    /// Another WebSocket has the same key.
    func replaced() {
        isClosed = true
        closeSubscription()
        outlet.close(4001, "another page has the same key")
    }

    private func closeSubscription() {
        deadline?.cancel()
        refresh?.cancel()
        if let subscription { service.events.remove(subscription) }
        subscription = nil
    }

    /// Sends an object as it is.
    func send(_ json: JSON) { outlet.send(json.text()) }

    /// A call was pushed for this page.
    func pushed(_ call: Call) {
        send(JSON([("event", "pushed"), ("time", .string(WallClock.now.iso8601))] + call.members))
    }

    // MARK: Tokens

    private func begin(_ principal: WebPrincipal) {
        deadline?.cancel()
        deadline = nil
        scheduleRefresh(principal)
        if let subscription { return subscription.accept(principal) }
        // The handler sends pings.
        let subscription = EventSubscription(outlet, principal, wantsLevels: false, keepsAlive: false)
        self.subscription = subscription
        service.events.add(subscription)
    }

    private func scheduleRefresh(_ principal: WebPrincipal) {
        refresh?.cancel()
        refresh = nil
        guard let time = principal.refreshAt, let end = principal.expiresAt else { return }
        let left = Duration.milliseconds(max(0, time * 1000 - WallClock.now.milliseconds))
        refresh = ControlLoop.shared.schedule(after: left) { [weak self] in
            self?.subscription?.write([
                "event": "tokenRefreshRequested", "time": .string(WallClock.now.iso8601),
                "expiresAt": .string(WallClock(milliseconds: end * 1000).iso8601),
            ])
        }
    }

    // MARK: Messages

    func received(_ text: [UInt8]) {
        guard !isClosed else { return }
        var id: JSON = .null
        do {
            let json = try Self.json(text)
            id = json["id"]?.integerValue.map { .integer($0) } ?? .null
            try handle(try MessageFields("message", json))
        } catch {
            fail(id, Self.error(error))
        }
    }

    private static func json(_ text: [UInt8]) throws(WebError) -> JSON {
        do throws(JSONError) {
            return try JSON(reading: text, rules: JSONRules(bytes: WebRequest.longestBody, depth: 8))
        } catch {
            throw WebError(400, "badRequest", "the message is no JSON: \(error)")
        }
    }

    static func error(_ error: any Error) -> WebError {
        switch error {
        case let error as WebError: error
        case let error as BridgeError: WebError(error)
        case let error as MessageRefusal: WebError(error)
        default: WebError(500, "failed", "the request failed: \(error)")
        }
    }

    private func fail(_ id: JSON, _ error: WebError) {
        outlet.send(JSON([("reply", id), ("error", error.object)]).text())
        guard error.code == "badRequest" else { return }
        mistakes += 1
        if mistakes >= Self.mostMistakes { outlet.close(1008, "ten messages in a row were malformed") }
    }

    private func reply(_ id: Int, _ result: JSON) {
        mistakes = 0
        outlet.send(JSON([("reply", JSON(id)), ("result", result)]).text())
    }

    private func handle(_ message: MessageFields) throws {
        if let id = try message.optionalNumber("done") { return answered(id, refusal: nil) }
        if let id = try message.optionalNumber("refused") {
            return answered(id, refusal: try message.optionalText("message") ?? "refused by the web page")
        }
        let word = try message.text("request")
        let id = try message.number("id")
        let request = message.named(word)
        if word == "authenticate" { return try authenticate(id, request) }
        guard let subscription else {
            throw WebError(401, "noToken", "the first message is authenticate, with a token")
        }
        switch word {
        case "watch":
            try Self.check(request, ["levels"])
            subscription.wantsLevels = try request.flag("levels")
            service.events.followLevels()
            reply(id, [:])
        case let word where Self.providerWords.contains(word):
            guard subscription.principal.allows(.provider) else { throw WebService.noScope(.provider) }
            guard requests.count < Self.mostRequests else {
                throw WebError(429, "tooMany", "\(Self.mostRequests) requests wait already")
            }
            requests.append((id, request))
            guard runner == nil else { return }
            runner = Task { @ControlPlane in await self.carryOutAll() }
        default:
            throw WebError(
                400, "badRequest",
                "\"\(PrintableText.line(word))\" is no request; accepted: \(Self.words.joined(separator: ", "))")
        }
    }

    private static let words = ["authenticate", "watch"] + providerWords

    private func carryOutAll() async {
        while !requests.isEmpty {
            let (id, request) = requests.removeFirst()
            do {
                let result = try await carryOut(request)
                reply(id, result)
            } catch {
                fail(JSON(id), Self.error(error))
            }
        }
        runner = nil
    }

    /// A late answer is ignored.
    private func answered(_ id: Int, refusal: String?) {
        mistakes = 0
        _ = service.providers.answer(id, refusal: refusal.map { PrintableText.line($0) }, by: self)
    }

    static func check(_ request: MessageFields, _ fields: [String]) throws {
        let known = ["request", "id"] + fields
        guard let unknown = request.keys.first(where: { !known.contains($0) }) else { return }
        throw WebError(
            400, "badRequest",
            "\(request.name): \"\(PrintableText.line(unknown))\" is not known; it has \(known.joined(separator: ", "))")
    }

    private func authenticate(_ id: Int, _ request: MessageFields) throws {
        try Self.check(request, ["token"])
        let principal: WebPrincipal
        do {
            principal = try service.principal(token: try request.text("token"), from: self.request.peer)
            guard principal.allows(.read) else { throw WebService.noScope(.read) }
        } catch {
            outlet.send(JSON([("reply", JSON(id)), ("error", Self.error(error).object)]).text())
            // A client with a token goes on with it.
            if subscription == nil { outlet.close(1008, "the token is refused") }
            return
        }
        reply(
            id,
            [
                "scopes": JSON(principal.words),
                "expiresAt": principal.expiresAt.map { .string(WallClock(milliseconds: $0 * 1000).iso8601) } ?? .null,
            ])
        begin(principal)
    }
}
