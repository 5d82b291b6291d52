import ControlLoop
import JSONText
import Synchronization

/// A token for a client of btcall-web, such as the page that this program shows, and the tokens after it.
///
/// When 80 % of a token's life have passed, btcall-web makes the next one. Renewal ends with ``end()``, and with the last
/// reference to this object.
public final class AuthenticationContext: Sendable {
    /// What a client with the token may do.
    public enum Scope: String, Hashable, Sendable, CaseIterable {
        case read, calls, route, provider, pair
        /// Includes all others.
        case admin
    }

    private let token: Mutex<IssuedToken>
    private let renewal: TokenRenewal

    init(_ request: TokenRequest, _ tokenRefreshed: @escaping @Sendable (String) -> Void) async throws(BridgeError) {
        let first = try await request.send()
        token = Mutex(first)
        renewal = await TokenRenewal(request)
        await renewal.start(after: first) { [weak self] next in
            self?.token.withLock { $0 = next }
            tokenRefreshed(next.text)
        }
    }

    /// The present token, a JSON Web Token.
    public var jwtToken: String { token.withLock { $0.text } }

    /// End of the present token, in ISO 8601 and UTC: `2027-01-15T09:00:00.000Z`.
    public var expiresAt: String { token.withLock { $0.end } }

    /// Makes no further tokens. The present one stays valid until its end.
    public func end() async { await renewal.end() }
}

/// Where a server may post incoming calls, and the proof that it may: its request is a POST to ``path`` at the address of
/// btcall-web, with the header `Authorization` and a JSON object with `number` and `provider`.
///
/// btcall-web and btcalld need not run. The call belongs to btcall-web, or to the web page that is registered with that name;
/// this program sees it in the events.
public struct PushToken: Hashable, Sendable {
    /// Name of the application in the calls.
    public let provider: String
    /// `/v1/calls/incoming`.
    public let path: String
    /// Value of the header: `Bearer …`.
    public let authorization: String
    /// Its end, in ISO 8601 and UTC.
    public let expiresAt: String
}

extension CallBridge {
    /// Asks btcall-web for a token, and for the next ones.
    ///
    /// - Parameters:
    ///   - subject: the client's name in the log of btcall-web.
    ///   - life: of each token, in whole seconds; at most 366 days.
    ///   - socket: path of the Unix socket of btcall-web.
    ///   - tokenRefreshed: gets each later token. A page hands it in with `authenticate` on its WebSocket.
    /// - Throws: `.accessDenied` unless this user is root or in group `btcall`; `.notSupported` when btcall-web has no secret
    ///   for tokens; `.invalidArgument`.
    public static func authenticationContext(
        for scopes: Set<AuthenticationContext.Scope>, subject: String? = nil, life: Duration = .seconds(3600),
        socket: String = "/run/btcall/web.sock", tokenRefreshed: @escaping @Sendable (String) -> Void
    ) async throws(BridgeError) -> AuthenticationContext {
        try await AuthenticationContext(
            TokenRequest(scopes: scopes, subject: subject, life: life, socket: socket), tokenRefreshed)
    }

    /// Asks btcall-web for the token with which a server posts incoming calls. It is not renewed.
    ///
    /// - Parameters:
    ///   - provider: name of the application in the calls, and in the log of btcall-web.
    ///   - life: in whole seconds; at most 366 days.
    ///   - socket: path of the Unix socket of btcall-web.
    /// - Throws: as ``authenticationContext(for:subject:life:socket:tokenRefreshed:)``.
    public static func pushToken(
        for provider: String, life: Duration = .seconds(30 * 86_400), socket: String = "/run/btcall/web.sock"
    ) async throws(BridgeError) -> PushToken {
        let token = try await TokenRequest(scopes: [.provider], subject: provider, life: life, socket: socket).send()
        return PushToken(
            provider: provider, path: LocalWeb.incomingCalls, authorization: "Bearer \(token.text)",
            expiresAt: token.end)
    }
}

/// One token, as btcall-web made it.
struct IssuedToken: Hashable, Sendable {
    let text: String
    /// ISO 8601.
    let end: String

    /// Time until the next one is asked for.
    var usableTime: Duration {
        guard let end = WallClock(iso8601: end) else { return .zero }
        return .milliseconds(max(0, end.milliseconds - WallClock.now.milliseconds)) * 4 / 5
    }
}

/// What btcall-web is asked for.
struct TokenRequest: Sendable {
    let scopes: Set<AuthenticationContext.Scope>
    let subject: String?
    let life: Duration
    let socket: String

    @ControlPlane
    func send() async throws(BridgeError) -> IssuedToken {
        let words = AuthenticationContext.Scope.allCases.filter(scopes.contains).map(\.rawValue)
        var members: [(String, JSON)] = [("scopes", JSON(words)), ("seconds", .integer(life.components.seconds))]
        if let subject { members.append(("subject", .string(subject))) }
        let answer = try await LocalWeb.post("/v1/tokens", JSON(members), to: socket)
        guard let text = answer["token"]?.stringValue, let end = answer["expiresAt"]?.stringValue,
            WallClock(iso8601: end) != nil
        else {
            throw BridgeError(.failed, "btcall-web answered without a token: update it")
        }
        return IssuedToken(text: text, end: end)
    }
}

/// Asks for the next token after 80 % of the present one's life, and again while btcall-web does not give one.
@ControlPlane
private final class TokenRenewal {
    private static let longestPause = Duration.seconds(30)

    private let request: TokenRequest
    private var onToken: (@Sendable (IssuedToken) -> Void)?
    private var timer: Timer?

    init(_ request: TokenRequest) {
        self.request = request
    }

    isolated deinit { timer?.cancel() }

    func start(after token: IssuedToken, _ onToken: @escaping @Sendable (IssuedToken) -> Void) {
        self.onToken = onToken
        schedule(after: token.usableTime)
    }

    func end() {
        onToken = nil
        timer?.cancel()
    }

    private func schedule(after time: Duration) {
        timer = ControlLoop.shared.schedule(after: time) { [weak self] in
            guard let request = self?.request else { return }
            Task { @ControlPlane [weak self] in
                // btcall-web may be away for a moment.
                let token = try? await request.send()
                self?.received(token)
            }
        }
    }

    private func received(_ token: IssuedToken?) {
        guard let onToken else { return }
        guard let token else { return schedule(after: min(Self.longestPause, request.life / 20)) }
        onToken(token)
        schedule(after: token.usableTime)
    }
}
