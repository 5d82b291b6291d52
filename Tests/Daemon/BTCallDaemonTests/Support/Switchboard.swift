import BTCallAPI
import BTCallDaemon
import CallControl
import ControlLoop
import DBus
import Telephony
import TestSupport

/// A part of the daemon that owns calls and carries out requests, so that a test can report several changes in one tick.
@ControlPlane
final class Switchboard: CallOwner {
    let name: String
    let options: ProviderOptions
    let busName: String? = nil
    /// The numbers that it was asked to dial.
    private(set) var dialled: [String] = []

    init(_ name: String = "switchboard", _ capabilities: Set<ProviderOptions.Capability> = [.hold, .dial, .dtmf]) {
        self.name = name
        options = ProviderOptions(name: name, capabilities: capabilities)
    }

    func start(
        _ call: String, _ number: String, _ media: MediaState, for account: AccountDescription
    ) async throws(APIError) {
        dialled.append(number)
    }

    func answer(_ call: String, _ media: MediaState, for account: AccountDescription) async throws(APIError) {}
    func end(_ call: String, reason: String) async throws(APIError) {}
    func setHeld(_ call: String, _ held: Bool) async throws(APIError) {}
    func sendDTMF(_ call: String, _ tones: String) async throws(APIError) {}
    func audioReady(_ call: String, _ descriptor: PassedDescriptor, _ format: AudioFormat) async throws(APIError) {}
    func released() {}
}

extension Switchboard {
    /// - Parameter state: a word of `Call1.Update`.
    func report(_ state: String, of record: CallRecord, to calls: CallDirectory) throws(APIError) {
        let states: [String: CallState] = [
            "alerting": .alerting, "active": .active, "held": .held, "ended": .ended(.remoteHangUp),
        ]
        guard let state = states[state] else { throw APIError(.invalidArgument, state) }
        try calls.update(record, state, from: self)
    }
}

extension CallDirectory {
    /// One random action of an application, a headset or a client; an action that does not fit the present calls is refused.
    func walk(_ owners: [Switchboard], _ random: inout SeededGenerator) async {
        let owner = owners[random.below(owners.count)]
        let record = calls.randomElement(using: &random)
        let state = ["alerting", "active", "held", "ended"][random.below(4)]
        do throws(APIError) {
            switch (random.below(8), record) {
            case (0, _), (1, _): _ = try reportIncoming(from: owner, number: "1", options: ReportOptions())
            case (2, _): _ = try reportOutgoing(from: owner, number: "2", options: ReportOptions())
            case (3, _): _ = try await place("3", provider: owner.name)
            case (4, let record?), (5, let record?):
                try (owners.first { $0 === record.provider } ?? owner).report(state, of: record, to: self)
            case (6, let record?): try await perform(.answer(record.identifier))
            case (7, let record?): try await perform(.setHeld(record.identifier, random.below(2) == 0))
            default: break
            }
        } catch {
            // The walk checks the resulting state afterwards.
        }
    }
}
