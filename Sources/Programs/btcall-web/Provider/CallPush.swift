import BTCall
import BTCallJSON
import BluetoothTypes
import ControlLoop
import JSONText

/// Calls that other programs push: `POST /v1/calls/incoming`.
@ControlPlane
final class CallPush {
    nonisolated static let fields: [Route.Field] = [
        Route.Field(name: "number", type: "string", meaning: "the caller's number; empty when withheld"),
        Route.Field(name: "name", type: "string", isRequired: false, meaning: "the caller's name"),
        Route.Field(
            name: "provider", type: "string", isRequired: false, meaning: "name of the application; \(usualName)"),
        Route.Field(name: "routes", type: "[string]", isRequired: false, meaning: "kinds of device that it may use"),
        Route.Field(
            name: "key", type: "string", isRequired: false, range: 1...64,
            meaning: "1 to 64 characters: repeated, it is the same call"
        ),
        Route.Field(
            name: "seconds", type: "integer", isRequired: false, range: 5...300,
            meaning: "5 to 300: how long it rings; 60"),
    ]
    private nonisolated static let usualName = "push"
    private static let usualSeconds = 60
    /// Keys that are remembered.
    private static let mostKeys = 64
    /// A signature is valid for a minute before and after its time.
    private static let signatureLife: Int64 = 120

    private let bridge: CallBridge
    private let table: ProviderTable
    private var keys: [(key: String, call: JSON)] = []
    private var signatures: [String: Int64] = [:]
    private var ringing: [Call.ID: Timer] = [:]

    init(bridge: CallBridge, table: ProviderTable) {
        self.bridge = bridge
        self.table = table
    }

    /// - Returns: the call, and whether it is new.
    func push(_ body: MessageFields) async throws -> (call: JSON, isNew: Bool) {
        let number = try body.text("number")
        let seconds = try body.optionalNumber("seconds") ?? Self.usualSeconds
        let key = try body.optionalText("key")
        if let known = keys.first(where: { $0.key == key }) { return (try await present(known.call), false) }
        let name = try body.optionalText("provider") ?? Self.usualName
        let routes = try WebSession.routes(body)
        let provider = try await table.pushed(name)
        let id: Call.ID
        do {
            id = try await provider.reportIncoming(
                number: number, name: try body.optionalText("name"), routes: routes)
        } catch {
            if provider.calls.isEmpty { await provider.unregister() }
            throw error
        }
        end(id, of: provider, after: seconds)
        guard let call = try await bridge.calls.list().first(where: { $0.id == id }) else {
            throw WebError(409, "wrongState", "the call has ended already")
        }
        provider.page?.pushed(call)
        if let key {
            keys.append((key, call.json))
            if keys.count > Self.mostKeys { keys.removeFirst() }
        }
        return (call.json, true)
    }

    /// Refuses a signature that was used before.
    func use(_ signature: String, of time: Int64, at now: Int64) throws(WebError) {
        signatures = signatures.filter { now - $0.value <= Self.signatureLife }
        guard signatures.updateValue(time, forKey: signature) == nil else {
            throw WebError(403, "badSignature", "the signature was used before: each push needs its own")
        }
    }

    private func present(_ known: JSON) async throws -> JSON {
        let id = known["call"]?.stringValue
        return try await bridge.calls.list().first { $0.id.description == id }?.json ?? known
    }

    private func end(_ call: Call.ID, of provider: WebProvider, after seconds: Int) {
        ringing[call] = ControlLoop.shared.schedule(after: .seconds(seconds)) { [weak self, weak provider] in
            self?.ringing[call] = nil
            Task { @ControlPlane in
                guard let self, let provider, provider.calls.contains(call),
                    // Without the daemon the call has ended.
                    let present = try? await self.bridge.calls.list().first(where: { $0.id == call }),
                    [.ringing, .waiting].contains(present.state)
                else { return }
                try? await provider.update(call, .ended, .missed)
            }
        }
    }
}
