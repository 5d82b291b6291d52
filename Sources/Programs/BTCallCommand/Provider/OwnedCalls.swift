import BTCall
import BTCallJSON
import CommandKit
import ControlLoop

/// The calls of this process as a telephony application: reports them, and orders their events so that a script can follow
/// them. No event of a call precedes the id from its report.
@ControlPlane
final class OwnedCalls: CallRequestReceiving {
    enum Event: Hashable {
        case state(Call.ID, Call.State, reason: String?)
        /// The daemon has dropped the registration, or has gone: the last event.
        case released
    }

    /// Carries a request out, or refuses it; the daemon waits five seconds.
    private let onRequest: @ControlPlane (CallRequest, Call.ID) async throws(ProviderRefusal) -> Void
    private let onEvent: @ControlPlane (Event) -> Void
    private let audio: RawAudio?
    private var registration: ProviderRegistration?
    private var watch: Task<Void, Never>?
    /// Calls that have not ended, in order of appearance.
    private(set) var calls: [Call.ID] = []
    private var reports = 0
    private var early: [(Call.ID, Call.State, String?)] = []
    private var waiting: [CheckedContinuation<Void, Never>] = []
    /// Waiters for the end of all calls.
    private var ends: [CheckedContinuation<Void, Never>] = []

    /// - Parameter audio: nil closes the audio of the calls at once.
    init(
        _ audio: RawAudio?,
        onRequest: @escaping @ControlPlane (CallRequest, Call.ID) async throws(ProviderRefusal) -> Void,
        onEvent: @escaping @ControlPlane (Event) -> Void
    ) {
        self.audio = audio
        self.onRequest = onRequest
        self.onEvent = onEvent
    }

    func register(_ description: CallProviderDescription, on bridge: CallBridge) async throws {
        let events = await bridge.events()
        watch = Task { @ControlPlane in for await event in events { self.handle(event) } }
        do {
            registration = try await bridge.register(self, as: description)
        } catch {
            watch?.cancel()
            throw error
        }
    }

    /// Ends the calls and the registration; returns when all their events have been delivered.
    func unregister() async {
        // Without the daemon there is nothing to unregister.
        try? await registration?.unregister()
        registration = nil
        if !calls.isEmpty {
            let timer = ControlLoop.shared.schedule(after: .seconds(1)) { self.resume(&self.ends) }
            await withCheckedContinuation { ends.append($0) }
            timer.cancel()
        }
        watch?.cancel()
        audio?.stop()
    }

    /// - Parameter routes: the kinds of device that the call may use; nil for all.
    func reportIncoming(number: String, name: String?, routes: Set<Call.Route>?) async throws -> Call.ID {
        try await report { try await $0.reportIncoming(number: number, name: name, routes: routes) }
    }

    func reportOutgoing(
        number: String, name: String?, _ state: Call.State, routes: Set<Call.Route>?
    ) async throws -> Call.ID {
        try await report { try await $0.reportOutgoing(number: number, name: name, state: state, routes: routes) }
    }

    func update(_ call: Call.ID, _ state: Call.State, _ reason: Call.EndReason?) async throws {
        guard let registration else { throw CommandFailure("the registration has ended") }
        try await registration.update(call, state, reason: reason)
    }

    /// - Parameter text: the beginning of an id; nil for the only call.
    func find(_ text: String?) throws -> Call.ID {
        let matching = calls.filter { text.map($0.description.hasPrefix) ?? true }
        if matching.count == 1 { return matching[0] }
        let list = calls.isEmpty ? "there is none" : "there are \(calls.map(\.description).joined(separator: ", "))"
        guard let text else { throw CommandFailure(calls.isEmpty ? "there is no call" : "name a call: \(list)") }
        throw CommandFailure("\"\(text)\" is \(matching.isEmpty ? "no call" : "more than one call"): \(list)")
    }

    private func report(_ body: @ControlPlane (ProviderRegistration) async throws -> Call.ID) async throws -> Call.ID {
        guard let registration else { throw CommandFailure("the registration has ended") }
        reports += 1
        do {
            let call = try await body(registration)
            calls.append(call)
            return call
        } catch {
            reported()
            throw error
        }
    }

    /// Call this after passing on the id of a report: releases the call's events that have waited for it.
    func reported() {
        reports -= 1
        let missed = early
        early = []
        for (call, state, reason) in missed { stateChanged(call, state, reason) }
        if reports == 0 { resume(&waiting) }
    }

    private func handle(_ event: BridgeEvent) {
        if case .callStateChanged(let call, let state, let reason) = event { stateChanged(call, state, reason) }
    }

    private func stateChanged(_ call: Call.ID, _ state: Call.State, _ reason: String?) {
        guard reports == 0 else { return early.append((call, state, reason)) }
        guard let index = calls.firstIndex(of: call) else { return }
        if state == .ended { calls.remove(at: index) }
        onEvent(.state(call, state, reason: reason))
        if calls.isEmpty { resume(&ends) }
    }

    private func resume(_ continuations: inout [CheckedContinuation<Void, Never>]) {
        let resumed = continuations
        continuations = []
        for continuation in resumed { continuation.resume() }
    }

    // MARK: CallProvider

    func handle(_ request: CallRequest, _ call: Call.ID) async throws(ProviderRefusal) {
        while reports > 0 { await withCheckedContinuation { waiting.append($0) } }
        if case .start = request {
            calls.append(call)
        } else if !calls.contains(call) {
            throw .noSuchCall("that call has ended")
        }
        do throws(ProviderRefusal) {
            try await onRequest(request, call)
        } catch {
            if case .start = request { calls.removeAll { $0 == call } }
            throw error
        }
    }

    /// An unused audio object closes its socket: the call continues without audio.
    @ControlPlane func audioReady(_ call: Call.ID, _ audio: CallAudio) async { self.audio?.start(audio) }

    @ControlPlane func released() async {
        registration = nil
        calls = []
        onEvent(.released)
        resume(&ends)
    }
}
