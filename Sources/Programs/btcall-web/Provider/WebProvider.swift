import BTCall
import BTCallJSON
import ControlLoop
import JSONText

/// A telephony application whose other half is a web page; or nobody, for calls that were pushed: then everything that people
/// request counts as done.
@ControlPlane
final class WebProvider: CallRequestReceiving {
    /// Time for a page's answer; btcalld waits five seconds for ours.
    private nonisolated static let answerTimeout = Duration.seconds(4)
    /// How long the calls of a page stay without it.
    private nonisolated static let gracePeriod = Duration.seconds(15)

    private struct Ask {
        let message: JSON
        let continuation: CheckedContinuation<String?, Never>
        let timer: Timer
    }

    let name: String
    /// The page's secret; nil for pushed calls.
    let key: String?
    private let table: ProviderTable
    private var registration: ProviderRegistration?
    private(set) weak var page: WebSession?
    /// Calls that have not ended, in order of appearance.
    private(set) var calls: [Call.ID] = []
    private var reports = 0
    private var waiting: [CheckedContinuation<Void, Never>] = []
    private var asks: [Int: Ask] = [:]
    private var departure: Timer?

    init(name: String, key: String?, in table: ProviderTable) {
        self.name = name
        self.key = key
        self.table = table
    }

    func register(
        _ capabilities: Set<CallProviderDescription.Capability>, schemes: [String], talk: TalkMode?,
        on bridge: CallBridge
    ) async throws(BridgeError) {
        var description = CallProviderDescription(name: name, capabilities: capabilities)
        // The browser plays and records on the PCM btcall itself.
        description.audio = .pcm
        description.schemes = schemes
        description.talk = talk
        registration = try await bridge.register(self, as: description)
    }

    /// Ends the calls and the registration.
    func unregister() async {
        departure?.cancel()
        finishAsks("the application has ended")
        // Without the daemon there is nothing to unregister.
        try? await registration?.unregister()
        registration = nil
        calls = []
        table.remove(self)
    }

    // MARK: The page

    /// Asks this page from now on, also what was asked already.
    func attach(_ page: WebSession) {
        departure?.cancel()
        departure = nil
        self.page = page
        for (_, ask) in asks.sorted(by: { $0.key < $1.key }) { page.send(ask.message) }
    }

    /// The page's WebSocket has closed.
    func detach() {
        page = nil
        guard key != nil else { return finishAsks(nil) }
        departure = ControlLoop.shared.schedule(after: Self.gracePeriod) { [weak self] in
            guard let self else { return }
            Task { @ControlPlane in await self.unregister() }
        }
    }

    /// - Parameter refusal: nil: the page has done it.
    /// - Returns: false when nothing with this id was asked.
    func answer(_ id: Int, refusal: String?) -> Bool {
        guard let ask = asks.removeValue(forKey: id) else { return false }
        ask.timer.cancel()
        ask.continuation.resume(returning: refusal)
        return true
    }

    private func finishAsks(_ refusal: String?) {
        for id in asks.keys.sorted() { _ = answer(id, refusal: refusal) }
    }

    // MARK: Reports

    func reportIncoming(number: String, name: String?, routes: Set<Call.Route>?) async throws -> Call.ID {
        try await report { try await $0.reportIncoming(number: number, name: name, routes: routes) }
    }

    func reportOutgoing(
        number: String, name: String?, _ state: Call.State, routes: Set<Call.Route>?
    ) async throws -> Call.ID {
        try await report { try await $0.reportOutgoing(number: number, name: name, state: state, routes: routes) }
    }

    func update(_ call: Call.ID, _ state: Call.State, _ reason: Call.EndReason?) async throws {
        guard let registration else { throw Self.notRegistered }
        try await registration.update(call, state, reason: reason)
        if state == .ended { ended(call) }
    }

    /// Takes the floor back from the person who talks.
    func revokeTalk(_ call: Call.ID) async throws {
        guard let registration else { throw Self.notRegistered }
        try await registration.revokeTalk(of: call)
    }

    private static let notRegistered = WebError(409, "wrongState", "the application is not registered: register first")

    private func report(_ body: @ControlPlane (ProviderRegistration) async throws -> Call.ID) async throws -> Call.ID {
        guard let registration else { throw Self.notRegistered }
        reports += 1
        defer {
            reports -= 1
            if reports == 0 {
                let resumed = waiting
                waiting = []
                for continuation in resumed { continuation.resume() }
            }
        }
        let call = try await body(registration)
        calls.append(call)
        return call
    }

    /// A call has ended, for whatever reason.
    func ended(_ call: Call.ID) {
        calls.removeAll { $0 == call }
        guard key == nil, calls.isEmpty, reports == 0 else { return }
        Task { @ControlPlane in await self.unregister() }
    }

    // MARK: Requests of people

    func handle(_ request: CallRequest, _ call: Call.ID) async throws(ProviderRefusal) {
        // A request may arrive before the report of its call has returned.
        while reports > 0 { await withCheckedContinuation { waiting.append($0) } }
        if case .start = request {
            calls.append(call)
        } else if !calls.contains(call) {
            throw .noSuchCall("that call has ended")
        }
        guard page != nil || key != nil else { return }
        let id = table.nextAsk()
        let start: [(String, JSON)] = [
            ("ask", .string(Self.word(request))), ("id", JSON(id)), ("call", .string(call.description)),
        ]
        let message = JSON(start + request.members)
        let refusal = await withCheckedContinuation { continuation in
            let timer = ControlLoop.shared.schedule(after: Self.answerTimeout) { [weak self] in
                _ = self?.answer(id, refusal: "the web page did not answer within 4 s")
            }
            asks[id] = Ask(message: message, continuation: continuation, timer: timer)
            page?.send(message)
        }
        guard let refusal else { return }
        if case .start = request { calls.removeAll { $0 == call } }
        throw .failed(refusal)
    }

    /// Its name for pages.
    private static func word(_ request: CallRequest) -> String {
        if case .tones = request { "tones" } else { request.word }
    }

    /// Never called: the registration's audio is the PCM's.
    @ControlPlane func audioReady(_ call: Call.ID, _ audio: CallAudio) async {}

    @ControlPlane func released() async {
        calls = []
        departure?.cancel()
        finishAsks("btcalld has ended")
        registration = nil
        page?.send(["event": "released", "time": .string(WallClock.now.iso8601)])
        table.remove(self)
    }
}
