package import AudioPaths
import BTCallAPI
package import CallControl
package import Configuration
package import ControlLoop
package import DBus
package import TalkControl
import Telephony

/// `org.btcall.Calls1` at `/org/btcall/calls`, and one `org.btcall.Call1` object for each call.
@ControlPlane
package final class CallsObject {
    let bus: BusConnection
    let calls: CallDirectory
    let settings: Settings
    let log: CallLog
    let talk: TalkParts
    private let muting: CallMuting

    package init(
        bus: BusConnection, calls parts: CallParts, audio: AudioParts, talk: TalkParts, settings: Settings
    ) {
        self.bus = bus
        calls = parts.directory
        self.settings = settings
        log = parts.log
        self.talk = talk
        muting = CallMuting(mute: audio.mute, microphone: audio.microphone, calls: calls)
        bus.export([interface], at: BTCallPath.calls)
        audio.mute.changes.subscribe(self) { $0.muteChanged() }
        talk.control.keys.changes.subscribe(self) { object, _ in object.changed(BTCallName.Calls.talkKeys) }
        calls.objectChanges.subscribe(self) { $0.show($1) }
        calls.properties.subscribe(self) { $0.changed($1.0, $1.1) }
        calls.mediaRequests.subscribe(self) { $0.mediaChangeRequested($1.0, $1.1) }
        parts.quality.changes.subscribe(self) { $0.changed($1.0, $1.1) }
        parts.taps.events.subscribe(self) { object, event in
            // A call that has ended has no object any more.
            guard case .changed(let call) = event, object.calls.record(at: call.path) != nil else { return }
            object.changed(call, [BTCallName.Call.recording])
        }
        talk.teacher.progress.subscribe(self) { object, progress in
            object.emit(
                BTCallName.Calls.talkLearning, [.string("\(progress.0)"), .uint32(UInt32(clamping: progress.1))])
        }
        settings.changes.subscribe(self) { object, change in
            guard change.new.callPolicy.doNotDisturb != change.old.callPolicy.doNotDisturb else { return }
            object.changed(BTCallName.Calls.doNotDisturb)
        }
    }

    private var interface: ExportedInterface {
        typealias Name = BTCallName.Calls
        return ExportedInterface(
            BTCallName.Interface.calls, methods: methods,
            signals: [
                .init(Name.callAdded, [("call", "o"), ("properties", "a{sv}")]),
                .init(Name.callRemoved, [("call", "o"), ("reason", "s")]),
                .init(Name.incomingCall, [("call", "o"), ("properties", "a{sv}")]),
                .init(Name.cameraSettingsChanged, [("call", "o"), ("settings", "a{sv}")]),
                .init(Name.talkLearning, [("address", "s"), ("presses", "u")]),
            ],
            properties: [
                .init(Name.calls, "ao", get: callsValue),
                muting.property,
                .init(Name.talkKeys, "aa{sv}", get: talkKeysValue),
                .init(Name.doNotDisturb, "b", get: doNotDisturbValue, by: setDoNotDisturb),
            ])
    }

    private var methods: [ExportedInterface.Method] {
        typealias Name = BTCallName.Calls
        let report = [("provider", "o"), ("number", "s"), ("options", "a{sv}")]
        return [
            .init(Name.registerProvider, in: [("provider", "o"), ("options", "a{sv}")], by: registerProvider),
            .init(Name.unregisterProvider, in: [("provider", "o")], by: unregisterProvider),
            .init(Name.reportIncoming, in: report, out: [("call", "o")], by: reportIncoming),
            .init(Name.reportOutgoing, in: report, out: [("call", "o")], by: reportOutgoing),
            .init(Name.place, in: [("number", "s"), ("options", "a{sv}")], out: [("call", "o")], by: place),
            .init(Name.log, in: [("maximum", "u")], out: [("calls", "aa{sv}")], isReading: true, by: listLog),
            .init(Name.registerContactResolver, in: [("resolver", "o")], by: registerContactResolver),
            .init(Name.unregisterContactResolver, in: [("resolver", "o")], by: unregisterContactResolver),
            .init(Name.swap, by: swap),
            .init(Name.conference, by: conference),
            .init(Name.removeAll, by: removeAll),
            .init(Name.learnTalk, in: [("address", "s")], out: [("row", "s")], by: learnTalk),
            .init(Name.forgetTalk, in: [("address", "s")], by: forgetTalk),
            .init(Name.setTalk, in: [("pressed", "b"), ("options", "a{sv}")], by: setTalk),
        ]
    }

    // MARK: Mute and do not disturb

    private func muteChanged() {
        changed(BTCallName.Calls.muted)
        for record in calls.calls { changed(record, [BTCallName.Call.muted]) }
        calls.setMuted(muting.mute.isMuted)
    }

    private func doNotDisturbValue() -> Value { .bool(settings.configuration.callPolicy.doNotDisturb) }

    private func setDoNotDisturb(_ value: Value) throws(APIError) {
        let name = "\(ConfigurationSection.calls.settingPrefix).\(ConfigurationSection.doNotDisturb)"
        try settings.set(name, value.boolValue == true ? "yes" : "no")
    }

    // MARK: Changes of calls

    private func callsValue() -> Value { .objectPaths(calls.calls.map(\.path)) }

    /// Shows a change of a call on the bus.
    private func show(_ change: CallDirectory.Change) {
        switch change {
        case .added(let record):
            bus.export([CallObject(record, calls, bus, muting, talk.control).interface], at: record.path)
            var description = record.description
            description.isMuted = muting.mute.isMuted
            emit(BTCallName.Calls.callAdded, [.objectPath(record.path), .vardict(signalled(description))])
            record.shownState = record.call.state
            record.shownStatus = description.status
            record.announcedStatus = description.status
            record.shownIdentity = Self.identity(of: description)
            changed(BTCallName.Calls.calls)
            announceIncoming(record)
        case .changed(let record):
            emitState(record, reason: "")
            announceStatus(of: record)
        case .ended(let record, let reason):
            emitState(record, reason: reason.rawValue)
            announceStatus(of: record)
            bus.unexport(path: record.path)
            emit(BTCallName.Calls.callRemoved, [.objectPath(record.path), .string(reason.rawValue)])
            changed(BTCallName.Calls.calls)
        }
    }

    /// Sent once for each incoming call, after `CallAdded`.
    private func announceIncoming(_ record: CallRecord) {
        guard record.call.direction == .incoming else { return }
        emit(BTCallName.Calls.incomingCall, [.objectPath(record.path), .vardict(signalled(record.description))])
    }

    private func mediaChangeRequested(_ record: CallRecord, _ media: MediaState) {
        bus.emit(
            path: record.path, interface: BTCallName.Interface.call, member: BTCallName.Call.mediaChangeRequested,
            [.vardict(media.fields)])
    }

    /// Signals changed properties of a call, and the status that follows from them.
    private func changed(_ record: CallRecord, _ properties: [String]) {
        // The last figures of a call that has ended come before its end.
        guard record.shownStatus != nil, !record.call.state.isEnded, record.shownStatus != record.status else {
            bus.propertiesChanged(path: record.path, interface: BTCallName.Interface.call, properties)
            return
        }
        record.shownStatus = record.status
        let names = properties.filter { $0 != BTCallName.Call.status } + [BTCallName.Call.status]
        bus.propertiesChanged(path: record.path, interface: BTCallName.Interface.call, names)
        announceStatus(of: record)
    }

    /// The properties of a call that a broadcast signal may contain.
    private func signalled(_ description: CallDescription) -> [String: Value] {
        bus.readers == nil ? description.properties : description.publicProperties
    }

    private static func identity(of description: CallDescription) -> [String: Value] {
        // The account does not change.
        let names = CallDescription.identity.subtracting([BTCallName.Call.account])
        return description.properties.filter { names.contains($0.key) }
    }

    private func emitState(_ record: CallRecord, reason: String) {
        let identity = Self.identity(of: record.description)
        // Confidential properties are signalled without their values, and clients that may read them have to ask; so only
        // changed ones are signalled.
        let shown = bus.readers == nil ? [:] : record.shownIdentity
        record.shownIdentity = identity
        record.shownStatus = record.status
        bus.propertiesChanged(
            path: record.path, interface: BTCallName.Interface.call,
            [
                BTCallName.Call.state, BTCallName.Call.status, BTCallName.Call.startedAt, BTCallName.Call.hasVideo,
                BTCallName.Call.capabilities,
            ] + identity.keys.sorted().filter { identity[$0] != shown[$0] })
        // A name that became known is not a change of the state.
        guard record.shownState != record.call.state else { return }
        record.shownState = record.call.state
        bus.emit(
            path: record.path, interface: BTCallName.Interface.call, member: BTCallName.Call.stateChanged,
            [.string(record.description.state.rawValue), .string(reason)])
    }

    private func emit(_ member: String, _ arguments: [Value]) {
        bus.emit(path: BTCallPath.calls, interface: BTCallName.Interface.calls, member: member, arguments)
    }

    private func changed(_ property: String) {
        bus.propertiesChanged(path: BTCallPath.calls, interface: BTCallName.Interface.calls, [property])
    }
}
