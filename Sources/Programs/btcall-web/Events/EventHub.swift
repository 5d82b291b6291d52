import BTCall
import BTCallJSON
import ControlLoop
import JSONText

/// Gives the events of btcalld to all clients. It listens to the bus only while there is a client, or an open pairing window
/// that a client opened here.
@ControlPlane
final class EventHub {
    private let bridge: CallBridge
    private var clients: [EventSubscription] = []
    private var following: [Task<Void, Never>] = []
    /// Whether the stream has told the daemon's presence.
    private var isPresenceKnown = false
    /// Whether the window was opened here, so that its events are followed without clients.
    private var holdsWindow = false
    /// By address, in the order in which they were found.
    private var found: [(address: String, json: JSON)] = []
    private var levels: LevelSource?

    init(bridge: CallBridge) {
        self.bridge = bridge
    }

    // MARK: Clients

    /// Sends the present state, then events, until ``remove(_:)``.
    func add(_ client: EventSubscription) {
        clients.append(client)
        follow()
        sendPresent(to: [client])
        followLevels()
    }

    func remove(_ client: EventSubscription) {
        client.cancel()
        clients.removeAll { $0 === client }
        followLevels()
        rest()
    }

    /// Starts or stops the levels after a client has changed what it wants.
    func followLevels() {
        guard clients.contains(where: \.wantsLevels) else {
            levels?.stop()
            levels = nil
            return
        }
        guard levels == nil else { return }
        let source = LevelSource(bridge) { [weak self] json in self?.send(json) { $0.wantsLevels } }
        levels = source
        source.start()
    }

    private func follow() {
        guard following.isEmpty else { return }
        isPresenceKnown = false
        following = [
            Task { @ControlPlane [weak self] in
                guard let events = await self?.bridge.events() else { return }
                for await event in events { self?.received(event) }
            },
            Task { @ControlPlane [weak self] in
                guard let events = await self?.bridge.pairing.events() else { return }
                for await event in events { await self?.received(event) }
            },
        ]
    }

    private func rest() {
        guard clients.isEmpty, !holdsWindow else { return }
        for task in following { task.cancel() }
        following = []
        found = []
    }

    private func received(_ event: BridgeEvent) {
        switch event {
        case .daemonAppeared, .daemonVanished:
            // The first one only says what is so already.
            guard isPresenceKnown else {
                isPresenceKnown = true
                return
            }
            send(event.json(at: .now))
            found = []
            if case .daemonAppeared = event {
                for client in clients { client.awaitPresent() }
                sendPresent(to: clients)
            } else {
                holdsWindow = false
                rest()
            }
        default: send(event.json(at: .now))
        }
    }

    private func send(_ event: JSON, to isMeant: (EventSubscription) -> Bool = { _ in true }) {
        var text: String?
        for client in clients where isMeant(client) {
            client.send(event) {
                let made = text ?? event.text()
                text = made
                return made
            }
        }
    }

    // MARK: The present state

    private func sendPresent(to clients: [EventSubscription]) {
        Task { @ControlPlane in
            let json = await present()
            for client in clients where !client.isCancelled { client.present(json) }
        }
    }

    private func present() async -> JSON {
        var members: [(String, JSON)] = [("event", "present"), ("time", .string(WallClock.now.iso8601))]
        do {
            let status = try await bridge.status().json
            let devices = try await bridge.audioDeviceManager.audioDevices().map(\.json)
            let isUndisturbed = try await bridge.calls.isDoNotDisturb()
            // A btcalld without pairing has no window.
            let window = (try? await pairing()) ?? Self.pairing(.closed, isSearching: false, [])
            members += [
                ("status", status), ("devices", .array(devices)), ("doNotDisturb", JSON(isUndisturbed)),
                ("pairing", window),
            ]
        } catch {
            members += [
                ("status", ["state": "absent"]), ("devices", []), ("doNotDisturb", false),
                ("pairing", Self.pairing(.closed, isSearching: false, [])),
            ]
        }
        return JSON(members)
    }

    // MARK: Pairing

    /// The window, with what was found since it opened; only while somebody followed the events.
    func pairing() async throws -> JSON {
        let (state, isSearching) = (try await bridge.pairing.state(), try await bridge.pairing.isSearching())
        return Self.pairing(state, isSearching: isSearching, found.map(\.json))
    }

    func openPairing(seconds: Int) async throws {
        holdsWindow = true
        follow()
        found = []
        do {
            try await bridge.pairing.open(seconds: seconds)
        } catch {
            holdsWindow = false
            rest()
            throw error
        }
    }

    private static func pairing(_ state: Pairing.State, isSearching: Bool, _ found: [JSON]) -> JSON {
        ["state": .string(state.rawValue), "searching": JSON(isSearching), "found": .array(found)]
    }

    private func received(_ event: Pairing.Event) async {
        var result = JSON.null
        switch event {
        case .found(let device):
            if let index = found.firstIndex(where: { $0.address == device.address }) {
                found[index].json = device.json
            } else {
                found.append((device.address, device.json))
            }
        case .stateChanged(let state):
            if state == .open { found = [] }
        case .finished(let outcome):
            result = [
                "outcome": .string(outcome.outcome.rawValue), "address": JSON(outcome.address),
                "reason": .string(outcome.reason),
            ]
            holdsWindow = false
        case .daemonVanished: return
        }
        // Without the daemon there is nothing to tell; its clients get `daemonVanished`.
        guard let window = try? await pairing(), case .object(let members) = window else { return }
        let start: [JSON.Member] = [
            JSON.Member("event", "pairing"), JSON.Member("time", .string(WallClock.now.iso8601)),
        ]
        send(.object(start + members + [JSON.Member("result", result)]))
        rest()
    }
}
