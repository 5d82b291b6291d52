import BTCall
import ControlLoop

/// The telephony applications that are web pages, and those of pushed calls.
@ControlPlane
final class ProviderTable {
    /// Most registrations at once.
    private static let most = 16

    private let bridge: CallBridge
    private(set) var providers: [WebProvider] = []
    /// Called when a registration has ended.
    var onChange: (@ControlPlane () -> Void)?
    private var lastAsk = 0
    private var following: Task<Void, Never>?

    init(bridge: CallBridge) {
        self.bridge = bridge
    }

    func nextAsk() -> Int {
        lastAsk += 1
        return lastAsk
    }

    func remove(_ provider: WebProvider) {
        providers.removeAll { $0 === provider }
        onChange?()
        guard providers.isEmpty else { return }
        following?.cancel()
        following = nil
    }

    /// The provider that has reported the call; nil for calls of others.
    func owner(of call: Call.ID) -> WebProvider? { providers.first { $0.calls.contains(call) } }

    // MARK: Pages

    /// Registers a page, or gives a page that came back its registration and its calls.
    ///
    /// - Returns: its calls, with those that were pushed for it.
    func register(
        _ page: WebSession, name: String, key: String, _ capabilities: Set<CallProviderDescription.Capability>,
        schemes: [String], talk: TalkMode?
    ) async throws -> [Call.ID] {
        let own: WebProvider
        var replaced: WebSession?
        if let known = providers.first(where: { $0.key == key }) {
            if let other = known.page, other !== page {
                replaced = other
                other.replaced()
            }
            own = known
        } else {
            guard providers.allSatisfy({ $0.page !== page || $0.key == nil }) else {
                throw WebError(409, "wrongState", "this WebSocket is registered already, with another key")
            }
            own = try await make(name: name, key: key, capabilities, schemes: schemes, talk: talk)
        }
        own.attach(page)
        let pushed = providers.filter { provider in
            provider.key == nil && provider.name == own.name && (provider.page == nil || provider.page === replaced)
        }
        for provider in pushed { provider.attach(page) }
        return own.calls + pushed.flatMap(\.calls)
    }

    /// The page's WebSocket has closed.
    func closed(_ page: WebSession) {
        for provider in providers where provider.page === page { provider.detach() }
    }

    /// - Returns: false when nothing with this id was asked of the page.
    func answer(_ id: Int, refusal: String?, by page: WebSession) -> Bool {
        providers.contains { $0.page === page && $0.answer(id, refusal: refusal) }
    }

    /// The registration of the page itself.
    func registration(of page: WebSession) throws(WebError) -> WebProvider {
        guard let provider = providers.first(where: { $0.page === page && $0.key != nil }) else {
            throw WebError(409, "wrongState", "the page is not registered: register first")
        }
        return provider
    }

    // MARK: Pushes

    /// The registration for pushed calls of this name, attached to a connected page of the same name.
    func pushed(_ name: String) async throws -> WebProvider {
        if let known = providers.first(where: { $0.key == nil && $0.name == name }) { return known }
        let provider = try await make(name: name, key: nil, [.hold, .dtmf, .mute], schemes: [], talk: nil)
        if let page = providers.first(where: { $0.key != nil && $0.name == name && $0.page != nil })?.page {
            provider.attach(page)
        }
        return provider
    }

    private func make(
        name: String, key: String?, _ capabilities: Set<CallProviderDescription.Capability>, schemes: [String],
        talk: TalkMode?
    ) async throws -> WebProvider {
        guard providers.count < Self.most else {
            throw WebError(409, "wrongState", "there are \(Self.most) applications already")
        }
        let provider = WebProvider(name: name, key: key, in: self)
        // Listed before it is registered, so that a second request of the same page finds it.
        providers.append(provider)
        follow()
        do {
            try await provider.register(capabilities, schemes: schemes, talk: talk, on: bridge)
        } catch {
            remove(provider)
            throw error
        }
        return provider
    }

    /// Follows the ends of calls while there are providers.
    private func follow() {
        guard following == nil else { return }
        following = Task { @ControlPlane [weak self] in
            guard let events = await self?.bridge.events() else { return }
            for await event in events {
                guard case .callRemoved(let call, _) = event else { continue }
                self?.owner(of: call)?.ended(call)
            }
        }
    }
}
