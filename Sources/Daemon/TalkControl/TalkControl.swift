package import AudioPaths
package import BTCallAPI
import BluetoothTypes
package import CallControl
package import Configuration
package import ControlLoop
package import Diagnostics
package import Logging
import Talk
import TalkWords
import Telephony

/// Push to talk: joins the talk keys, the calls, their applications and the microphone's gate of each call.
///
/// One `TalkFloor` for each call decides. A call without a talk mode is not touched.
@ControlPlane
package final class TalkControl {
    /// `isLinkNeeded` or `isOn` has changed.
    package let linkNeeds = Signal<Void>()
    /// Whether a call needs the voice links of headsets that open theirs by the press only.
    package private(set) var isLinkNeeded = true
    private var wasOn = false
    package let keys: TalkKeys
    /// Time to talk when the configuration sets no limit.
    private static let unlimited = Duration.seconds(365 * 86_400)

    private final class Floor {
        let record: CallRecord
        var machine: TalkFloor
        var timer: Timer?
        /// The application's words when it last refused.
        var refusal: APIError?
        /// Clients that wait for its application's answer.
        var waiting: [CheckedContinuation<Void, Never>] = []
        var isLinkNeeded = true

        init(_ record: CallRecord, _ settings: TalkSettings) {
            self.record = record
            machine = TalkFloor(settings)
        }

        var isOn: Bool { machine.talking.state != .off }
        var isAsking: Bool { machine.talking.state == .asking }
        var isRefused: Bool { machine.talking.state == .refused }
    }

    private let calls: CallDirectory
    private let tones: TalkTones
    private let logger: Logger
    private var configuration: Configuration
    /// In order of the calls' appearance.
    private var floors: [Floor] = []

    package init(
        settings: Settings, calls: CallDirectory, graph: AudioGraph, problems: ProblemList, logger: Logger
    ) {
        self.calls = calls
        self.logger = logger
        configuration = settings.configuration
        tones = TalkTones(graph: graph, logger: logger)
        keys = TalkKeys(
            limit: settings.configuration.talk.timeout ?? Self.unlimited, problems: problems, logger: logger)
        keys.events.subscribe(self) { $0.handle($1.0, $1.1) }
        calls.changes.subscribe(self) { $0.handle($1) }
        calls.talkModeChanges.subscribe(self) { control, record in
            if let floor = control.floor(of: record) { control.configure(floor) }
        }
        settings.changes.subscribe(self) { $0.follow($1.new, replacing: $1.old) }
    }

    package func stop() {
        keys.stop()
        tones.stop()
        for floor in floors {
            floor.timer?.cancel()
            resume(floor)
        }
    }

    // MARK: Calls

    private func floor(of record: CallRecord) -> Floor? { floors.first { $0.record === record } }

    private func handle(_ change: CallDirectory.Change) {
        switch change {
        case .added(let record):
            floors.append(Floor(record, settings(for: record)))
        case .changed(let record):
            guard let floor = floor(of: record) else { return }
            // Its capabilities may have changed.
            configure(floor)
            step(floor) { machine, now in
                record.hasSpeech ? machine.callBecameActive(at: now) : machine.callLeft(at: now)
            }
        case .ended(let record, _):
            guard let floor = floor(of: record) else { return }
            step(floor) { $0.callLeft(at: $1) }
            floor.timer?.cancel()
            floors.removeAll { $0 === floor }
            followLinks()
        }
    }

    private func follow(_ new: Configuration, replacing old: Configuration) {
        configuration = new
        guard new.talk != old.talk else { return }
        keys.limit = new.talk.timeout ?? Self.unlimited
        for floor in floors { configure(floor) }
    }

    private func configure(_ floor: Floor) {
        let settings = settings(for: floor.record)
        guard settings != floor.machine.settings else { return }
        step(floor) { $0.configure(settings, at: $1) }
    }

    private func settings(for record: CallRecord) -> TalkSettings {
        let talk = configuration.talk
        var settings = TalkSettings(mode: record.talkMode)
        settings.tail = talk.tail
        settings.limit = talk.timeout ?? Self.unlimited
        settings.asksPermission = record.call.capabilities.contains(.talk)
        if !talk.playsTones { settings.tones = [] }
        settings.linkLinger = configuration.timeouts.talkLink
        return settings
    }

    /// Whether a call has a talk mode, and no call is full duplex.
    package var isOn: Bool {
        floors.contains(where: \.isOn) && !floors.contains { $0.record.hasSpeech && !$0.isOn }
    }

    /// Whether somebody talks, or waits for permission.
    package var isTalking: Bool { floors.contains { $0.isAsking || $0.machine.talking.isOpen } }

    // MARK: Keys

    private func handle(_ key: TalkKeyID, _ event: TalkKey.Event) {
        for floor in floors { step(floor) { $0.key(key, event, at: $1) } }
    }

    /// Returns when no application is being asked any more because of a press.
    ///
    /// - Throws: `wrongState` when no call with a talk mode is active; `providerFailed` or `timedOut` when every such call is
    ///   refused.
    package func settle() async throws(APIError) {
        for floor in floors where floor.isAsking {
            await withCheckedContinuation { floor.waiting.append($0) }
        }
        let refused = floors.filter(\.isOn)
        guard let first = refused.first, refused.allSatisfy(\.isRefused) else { return }
        let name = first.record.provider.name
        throw first.refusal
            ?? APIError(.timedOut, "\(name) did not answer PerformTalk within \(first.machine.settings.permissionWait)")
    }

    /// - Throws: `wrongState` when no call with a talk mode is active.
    package func checkTalking() throws(APIError) {
        guard floors.allSatisfy({ !$0.isOn }) else { return }
        throw APIError(
            .wrongState,
            "no active call has a talk mode: set one (`btcall config talk.mode push`), or have the call's application name one"
        )
    }

    /// Takes the floor back for the call's application.
    ///
    /// - Throws: `wrongState` when the application is not asked who talks, and when nobody talks or waits for its answer.
    package func revoke(_ record: CallRecord) throws(APIError) {
        guard let floor = floor(of: record), floor.machine.settings.asksPermission else {
            throw APIError(
                .wrongState,
                "btcalld does not ask the application who talks here: register it with the capability talk")
        }
        guard floor.isAsking || floor.machine.talking.isOpen else {
            throw APIError(.wrongState, "nobody talks on this call: there is no turn to end")
        }
        floor.refusal = APIError(.providerFailed, "\(record.provider.name) has taken the floor back")
        step(floor) { $0.revoked(at: $1) }
    }

    // MARK: Steps

    private func step(_ floor: Floor, _ body: (inout TalkFloor, _ now: Instant) -> [TalkFloor.Action]) {
        for action in body(&floor.machine, ControlLoop.now) { perform(action, for: floor) }
        if !floor.isAsking { resume(floor) }
        followLinks()
    }

    private func resume(_ floor: Floor) {
        let waiting = floor.waiting
        floor.waiting = []
        for continuation in waiting { continuation.resume() }
    }

    private func perform(_ action: TalkFloor.Action, for floor: Floor) {
        switch action {
        case .microphone, .talking: calls.setTalking(floor.machine.talking, on: floor.record)
        case .ask(let id): ask(floor, id)
        case .yield: yield(floor)
        case .play(let tone): tones.play(tone)
        case .link(let isNeeded):
            floor.isLinkNeeded = isNeeded
        case .setDeadline(let deadline):
            floor.timer?.cancel()
            floor.timer = deadline.map { deadline in
                ControlLoop.shared.schedule(at: deadline) { [weak self, weak floor] in
                    guard let self, let floor else { return }
                    floor.timer = nil
                    step(floor) { $0.deadlineReached(at: $1) }
                }
            }
        }
    }

    private func followLinks() {
        let isNeeded = floors.isEmpty || floors.contains(where: \.isLinkNeeded)
        guard isNeeded != isLinkNeeded || isOn != wasOn else { return }
        isLinkNeeded = isNeeded
        wasOn = isOn
        linkNeeds.send()
    }

    // MARK: The application

    private func ask(_ floor: Floor, _ id: UInt32) {
        floor.refusal = nil
        let record = floor.record
        Task { @ControlPlane [weak self] in
            var refusal: APIError?
            do throws(APIError) {
                try await record.provider.talk(record.path, true)
            } catch {
                refusal = error
            }
            guard let self else { return }
            if let refusal {
                logger.about(call: record.uuid).notice("call \(record.uuid): nobody may talk: \(refusal)")
                floor.refusal = refusal
            }
            step(floor) { $0.permissionAnswered(id, isGranted: refusal == nil, at: $1) }
        }
    }

    private func yield(_ floor: Floor) {
        let (record, logger) = (floor.record, logger)
        Task { @ControlPlane in
            do throws(APIError) {
                try await record.provider.talk(record.path, false)
            } catch {
                // The floor is free anyway: a call that has ended has none.
                logger.about(call: record.uuid).debug("call \(record.uuid): \(error)")
            }
        }
    }
}
