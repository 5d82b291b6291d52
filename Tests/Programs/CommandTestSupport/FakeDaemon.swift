import BTCall
package import BTCallAPI
package import ControlLoop
package import DBus
import Foundation

/// `org.btcall` as a client sees it: devices, preferences, calls, and the audio of one call, exchanged as fast as it is
/// answered.
@ControlPlane
package final class FakeDaemon {
    /// Progress of a call after its report.
    package enum Course {
        /// Stays unchanged until the provider or a client acts.
        case rings
        /// A headset's button answers it, and ends it when all blocks are exchanged.
        case headsetAnswersAndEnds
    }

    package let bus: BusConnection
    package var router = RouterState()
    package var manager = ManagerDescription(version: "test", state: .active)
    package var explanation = ExplanationDescription(chosen: .none, level: "", reason: "", levels: [], text: [])
    /// Options of the last request; the answer to a request for a file.
    package private(set) var options: [String: Value] = [:]
    package var incident = "{}\n"
    package var isMuted = false
    package var (isDoNotDisturb, isTalkPressed) = (false, false)
    package var log: [CallLogDescription] = []
    package var settings: [SettingDescription] = []
    package var quirks = QuirksDescription()
    /// The answer for any address; nil refuses it as invalid.
    package var quirksExplanation: QuirksExplanationDescription?
    private var metrics = ""
    package var isManual = false
    /// Properties of `Audio1`; a client's changes are kept.
    package var audioProperties: [String: Value] = [
        "MicrophoneEnabled": .bool(true), "RecordingAlwaysPrepared": .bool(false), "Prepared": .bool(false),
        "MicrophoneInUse": .bool(false), "MicrophoneAccess": "allowed", "PrivacyOutput": "none",
        "MuteMode": "voiceProcessing", "MicVolume": .double(1), "AppVolume": .double(1), "VoiceProcessing": .bool(true),
        "VoiceProcessingBypassed": .bool(false), "VoiceProcessor": "webrtc", "EchoCancellation": .bool(true),
        "NoiseSuppression": .bool(true), "AutomaticGain": .bool(false), "HighPass": .bool(true),
    ]
    /// Present holds, each with the source that watches its descriptor.
    package internal(set) var held: [(name: String, source: DescriptorSource)] = []
    package var course = Course.rings
    /// Samples of the headset's microphone for the call.
    package var microphone: [Int16] = []
    /// Delay in frames after which the microphone hears the loudspeaker at half its level; 0: it does not.
    package var loopFrames = 0
    /// Samples from the far end.
    package internal(set) var heard: [Int16] = []
    package private(set) var requests: [String] = []
    /// What programs reported about cameras.
    package private(set) var cameraUses: [Bool] = []
    package private(set) var calls: [CallDescription] = []
    /// How many times clients read the state of a call.
    package private(set) var stateReads = 0
    package private(set) var provider: (sender: String, path: String, options: ProviderOptions)?
    var audio: (descriptor: Int32, source: DescriptorSource, call: String)?
    var sentFrames = 0

    package init(_ address: String) async throws {
        bus = try BusConnection(.address(address))
        bus.exportObjectManager(at: BTCallPath.manager)
        bus.export([managerInterface()], at: BTCallPath.manager)
        bus.export([routerInterface()], at: BTCallPath.router)
        bus.export([callsInterface()], at: BTCallPath.calls)
        bus.export([sessionInterface()], at: BTCallPath.session)
        bus.export([audioInterface()], at: BTCallPath.audio)
        bus.export([pairingInterface()], at: BTCallPath.manager)
        try await bus.requestName(BTCallName.bus)
    }

    package func setMetrics(_ text: String) { metrics = text }

    /// A test that threw may not have closed it.
    isolated deinit { close() }

    package func close() {
        endAudio()
        for hold in held { forget(hold.source) }
        held = []
        bus.close()
    }

    func note(_ request: String) { requests.append(request) }

    /// Changes the router's state and signals the properties that differ.
    package func update(_ change: (inout RouterState) -> Void) {
        let before = router.properties
        change(&router)
        let changed = router.properties.filter { before[$0.key] != $0.value }.keys.sorted()
        bus.propertiesChanged(path: BTCallPath.router, interface: BTCallName.Interface.router, changed)
    }

    // MARK: Interfaces

    private func managerInterface() -> ExportedInterface {
        ExportedInterface(
            BTCallName.Interface.manager,
            methods: [
                answering("ListSettings", out: [("settings", "aa{sv}")]) { daemon, _ in
                    [.vardicts(daemon.settings.map(\.fields))]
                },
                method("Activate") { daemon, _ in daemon.manager.state = .active },
                method("Deactivate") { daemon, _ in daemon.manager.state = .inactive },
                method("Logout", in: [("options", "a{sv}")]) { daemon, _ in daemon.manager.state = .inactive },
                method("ForgetCodecs", in: [("address", "s")]) { _, _ in },
                method("ReportCameraUse", in: [("inUse", "b")]) { daemon, call in
                    daemon.cameraUses.append(call.arguments[0].boolValue == true)
                },
                answering("Metrics", out: [("text", "s")]) { daemon, _ in [.string(daemon.metrics)] },
                answering("ListQuirks", out: [("quirks", "a{sv}")]) { daemon, _ in [.vardict(daemon.quirks.fields)] },
                answering("ExplainQuirks", in: [("address", "s")], out: [("explanation", "a{sv}")]) {
                    daemon, call throws(BusError) in
                    let word = call.arguments[0].stringValue ?? ""
                    daemon.requests.append("ExplainQuirks \(word)")
                    guard let explanation = daemon.quirksExplanation else {
                        throw APIError(.invalidArgument, "\"\(word)\" is no Bluetooth address").busError
                    }
                    return [.vardict(explanation.fields)]
                },
                method("SetSetting", in: [("key", "s"), ("value", "s")]) { daemon, call throws(BusError) in
                    let (key, value) = (call.arguments[0].stringValue ?? "", call.arguments[1].stringValue ?? "")
                    guard let index = daemon.settings.firstIndex(where: { $0.key == key }) else {
                        throw APIError(.invalidArgument, "there is no setting \"\(key)\"").busError
                    }
                    guard value != "radio" else {
                        let accepted = daemon.settings[index].accepted
                        throw APIError(.invalidArgument, "\(key): \"radio\" is not accepted; accepted: \(accepted)")
                            .busError
                    }
                    daemon.settings[index].value = value
                    daemon.settings[index].origin = .runtime
                },
                method("ResetSetting", in: [("key", "s")]) { daemon, call in
                    for index in daemon.settings.indices
                    where daemon.settings[index].key == call.arguments[0].stringValue {
                        daemon.settings[index].value = daemon.settings[index].defaultValue
                        daemon.settings[index].origin = .default
                    }
                },
            ],
            properties: ["Version": "s", "State": "s", "Problems": "aa{sv}"].map { name, type in
                property(name, type) { $0.manager.properties[name] ?? "" }
            } + [.init("CameraInUse", "b", get: { false })])
    }

    private func routerInterface() -> ExportedInterface {
        let types = [
            "Started": "b", "Selected": "s", "ActiveRoute": "s", "Pending": "s", "Mode": "s", "Codec": "s",
            "Reason": "s", "Devices": "aa{sv}", "Interruptions": "as",
        ]
        let readable: [ExportedInterface.Property] = types.map { name, type in
            property(name, type) { $0.router.properties[name] ?? "" }
        }
        let writable: [ExportedInterface.Property] = [
            property(
                "Preferred", "s", get: { $0.router.properties["Preferred"] ?? "" },
                set: { daemon, value throws(BusError) in
                    let device = try Self.device(value)
                    daemon.update { $0.preferred = device }
                }),
            property(
                "Default", "s", get: { $0.router.properties["Default"] ?? "" },
                set: { daemon, value throws(BusError) in
                    let device = try Self.device(value)
                    daemon.update { $0.defaultDevice = device }
                }),
        ]
        return ExportedInterface(
            BTCallName.Interface.router,
            methods: [
                method("Start") { daemon, _ in daemon.update { $0.isStarted = true } },
                method("Stop") { daemon, _ in daemon.update { $0.isStarted = false } },
                method("ClearSelection") { daemon, _ in daemon.update { $0.selected = .none } },
                method("Refresh") { _, _ in },
                holding("AcquireSelection", in: [("device", "s"), ("options", "a{sv}")]),
                holding("Interrupt", in: [("source", "s"), ("options", "a{sv}")]),
                method("Select", in: [("device", "s")]) { daemon, call throws(BusError) in
                    let device = try Self.device(call.arguments[0])
                    guard daemon.router.isStarted else {
                        throw APIError(.notStarted, "the router is stopped: `btcall daemon routing on` starts it")
                            .busError
                    }
                    daemon.update { $0.selected = device }
                },
                answering("Explain", in: [("options", "a{sv}")], out: [("explanation", "a{sv}")]) { daemon, call in
                    daemon.options = call.arguments[0].vardictValue ?? [:]
                    return [.vardict(daemon.explanation.fields)]
                },
                answering("Incident", in: [("options", "a{sv}")], out: [("json", "s")]) { daemon, call in
                    daemon.options = call.arguments[0].vardictValue ?? [:]
                    return [.string(daemon.incident)]
                },
            ],
            signals: [.init("RouteChanged", [("old", "s"), ("new", "s"), ("reason", "s")])],
            properties: readable + writable)
    }

    private func sessionInterface() -> ExportedInterface {
        ExportedInterface(
            BTCallName.Interface.session,
            methods: [
                holding("Activate", in: [("options", "a{sv}")]),
                method("Deactivate") { _, _ in },
            ],
            properties: [
                property("Manual", "b") { .bool($0.isManual) },
                property("Active", "b") { daemon in .bool(daemon.held.contains { $0.name == "Activate" }) },
            ])
    }

    private func callsInterface() -> ExportedInterface {
        let report = [("provider", "o"), ("number", "s"), ("options", "a{sv}")]
        return ExportedInterface(
            BTCallName.Interface.calls,
            methods: [
                method("RegisterProvider", in: [("provider", "o"), ("options", "a{sv}")]) { daemon, call in
                    let fields = Fields(call.arguments[1].vardictValue ?? [:], of: "options")
                    guard let options = try? ProviderOptions(fields) else { return }
                    daemon.provider = (call.sender, call.arguments[0].stringValue ?? "", options)
                },
                method("Swap") { _, _ in },
                method("Conference") { _, _ in }, talkMethod,
                method("RemoveAll") { daemon, _ in
                    for call in daemon.calls { daemon.end(BTCallPath.call(call.id), reason: "local") }
                },
                answering("Log", in: [("maximum", "u")], out: [("calls", "aa{sv}")]) { daemon, call in
                    let maximum = Int(call.arguments[0].integerValue ?? 0)
                    return [.vardicts(daemon.log.prefix(maximum == 0 ? daemon.log.count : maximum).map(\.fields))]
                },
                method("UnregisterProvider", in: [("provider", "o")]) { daemon, _ in daemon.provider = nil },
                answering("Place", in: [("number", "s"), ("options", "a{sv}")], out: [("call", "o")]) {
                    daemon, call throws(BusError) in
                    let number = call.arguments[0].stringValue ?? ""
                    let provider = call.arguments[1]["provider"]?.stringValue ?? "phone"
                    daemon.requests.append("Place \(number) by \(provider)")
                    guard provider == "phone" else {
                        throw APIError(
                            .noSuchProvider, "no registered provider can dial: start the telephony application"
                        ).busError
                    }
                    let placed = CallDescription(
                        id: UUID().uuidString.lowercased(), state: .dialing, direction: .outgoing, number: number,
                        provider: provider, index: UInt8(daemon.calls.count + 1))
                    return [.objectPath(daemon.addCall(placed))]
                },
                answering("ReportIncoming", in: report, out: [("call", "o")]) { daemon, call in
                    daemon.requests.append("ReportIncoming \(call.arguments[1].stringValue ?? "")")
                    return [.objectPath(daemon.add(call, .incoming, .ringing))]
                },
                answering("ReportOutgoing", in: report, out: [("call", "o")]) { daemon, call in
                    daemon.requests.append("ReportOutgoing \(call.arguments[1].stringValue ?? "")")
                    return [.objectPath(daemon.add(call, .outgoing, .dialing))]
                },
            ],
            properties: [
                property("Calls", "ao") { daemon in .objectPaths(daemon.calls.map { BTCallPath.call($0.id) }) },
                property(
                    "Muted", "b", get: { .bool($0.isMuted) },
                    set: { daemon, value in
                        daemon.isMuted = value.boolValue ?? false
                        daemon.bus.propertiesChanged(
                            path: BTCallPath.calls, interface: BTCallName.Interface.calls, ["Muted"])
                    }),
                talkProperty,
                property(
                    "DoNotDisturb", "b", get: { .bool($0.isDoNotDisturb) },
                    set: { daemon, value in daemon.isDoNotDisturb = value.boolValue ?? false }),
            ])
    }

    private static func device(_ value: Value) throws(BusError) -> DeviceWord {
        guard let device = DeviceWord(value.stringValue ?? "") else {
            throw APIError(.invalidArgument, "accepted: \(DeviceWord.accepted)").busError
        }
        return device
    }

    // MARK: Calls

    /// Adds a call as if a provider had reported it.
    @discardableResult
    package func addCall(_ call: CallDescription) -> String {
        let path = BTCallPath.call(call.id)
        calls.append(call)
        let types = [
            "Id": "s", "State": "s", "Direction": "s", "Number": "s", "Name": "s", "Provider": "s", "Index": "y",
            "StartedAt": "t", "SSRCs": "au", "Link": "a{sv}", "Quality": "i", "QualityParts": "a{sv}",
            "QualityTotal": "a{sv}", "HasVideo": "b", "Video": "s", "LocalVideoEnabled": "b", "TalkMode": "s",
        ]
        let callInterface = ExportedInterface(
            BTCallName.Interface.call,
            methods: [
                method("Answer", in: [("options", "a{sv}")]) { daemon, _ in daemon.change(path, .active) },
                method("End") { daemon, _ in daemon.end(path, reason: "local") },
                method("SetHeld", in: [("held", "b")]) { daemon, call in
                    daemon.change(path, call.arguments[0].boolValue == true ? .held : .active)
                },
                method("SendDTMF", in: [("tones", "s")]) { _, _ in }, revokeTalkMethod,
                method("Update", in: [("state", "s"), ("options", "a{sv}")]) { daemon, call throws(BusError) in
                    let reason = call.arguments[1]["reason"]?.stringValue ?? ""
                    guard reason.isEmpty || Call.EndReason(rawValue: reason) != nil else {
                        throw APIError(.invalidArgument, "\"\(reason)\" is no reason").busError
                    }
                    guard let state = CallDescription.State(rawValue: call.arguments[0].stringValue ?? "") else {
                        return
                    }
                    state == .ended ? daemon.end(path, reason: reason) : daemon.change(path, state)
                },
            ],
            properties: types.map { name, type in
                property(name, type) { daemon in
                    if name == "State" { daemon.stateReads += 1 }
                    return daemon.find(path)?.properties[name] ?? ""
                }
            })
        bus.export([callInterface], at: path)
        bus.emit(
            path: BTCallPath.calls, interface: BTCallName.Interface.calls, member: BTCallName.Calls.callAdded,
            [.objectPath(path), .vardict(call.properties)])
        return path
    }

    private func add(
        _ report: MethodCall, _ direction: CallDescription.Direction, _ state: CallDescription.State
    ) -> String {
        let call = CallDescription(
            id: UUID().uuidString.lowercased(), state: state, direction: direction,
            number: report.arguments[1].stringValue, provider: provider?.options.name ?? "",
            index: UInt8(calls.count + 1))
        let path = addCall(call)
        if course == .headsetAnswersAndEnds { Task { @ControlPlane in await pressButton(path) } }
        return path
    }

    private func find(_ path: String) -> CallDescription? { calls.first { BTCallPath.call($0.id) == path } }

    package func change(_ path: String, _ state: CallDescription.State, reason: String = "") {
        guard let index = calls.firstIndex(where: { BTCallPath.call($0.id) == path }) else { return }
        calls[index].state = state
        bus.emit(
            path: path, interface: BTCallName.Interface.call, member: BTCallName.Call.stateChanged,
            [.string(state.rawValue), .string(reason)])
        if state == .active { Task { @ControlPlane in await beginAudio(path) } }
        if state == .held { endAudio() }
    }

    /// Changes properties of a call and signals those that differ.
    package func revise(_ path: String, _ change: (inout CallDescription) -> Void) {
        guard let index = calls.firstIndex(where: { BTCallPath.call($0.id) == path }) else { return }
        let before = calls[index].properties
        change(&calls[index])
        let changed = calls[index].properties.filter { before[$0.key] != $0.value }.keys.sorted()
        bus.propertiesChanged(path: path, interface: BTCallName.Interface.call, changed)
    }

    package func end(_ path: String, reason: String) {
        change(path, .ended, reason: reason)
        endAudio()
        calls.removeAll { BTCallPath.call($0.id) == path }
        bus.emit(
            path: BTCallPath.calls, interface: BTCallName.Interface.calls, member: BTCallName.Calls.callRemoved,
            [.objectPath(path), .string(reason)])
        bus.unexport(path: path)
    }

    private func pressButton(_ call: String) async {
        if await ask(BTCallName.CallProvider.performAnswer, [.objectPath(call), .vardict([:])]) {
            change(call, .active)
        }
    }

    /// Dials at a headset: creates the call, then asks its application.
    package func dial(_ number: String) async {
        let call = CallDescription(
            id: UUID().uuidString.lowercased(), state: .dialing, direction: .outgoing, number: number,
            provider: provider?.options.name ?? "", index: UInt8(calls.count + 1))
        let path = addCall(call)
        if await ask(BTCallName.CallProvider.performStart, [.objectPath(path), .string(number), .vardict([:])]) {
            change(path, .dialing)
        } else {
            end(path, reason: "failed")
        }
    }

    /// Presses keys on a headset.
    package func sendTones(_ tones: String) async {
        guard let path = calls.last.map({ BTCallPath.call($0.id) }) else { return }
        _ = await ask(BTCallName.CallProvider.performDTMF, [.objectPath(path), .string(tones)])
    }

    /// Holds or resumes the call by a headset's button.
    package func pressHold(_ held: Bool) async {
        guard let path = calls.last.map({ BTCallPath.call($0.id) }) else { return }
        if await ask(BTCallName.CallProvider.performSetHeld, [.objectPath(path), .bool(held)]) {
            change(path, held ? .held : .active)
        }
    }

    /// Adds samples from the headset's microphone to the open audio; returns when each block has been answered.
    package func speak(_ samples: [Int16]) async {
        microphone += samples
        for _ in 0..<5 { sendBlock() }
        while heard.count < microphone.count { await ControlLoop.shared.sleep(for: .milliseconds(1)) }
    }

    /// Calls the provider; returns whether it fulfilled the request.
    func ask(_ member: String, _ arguments: [Value]) async -> Bool {
        guard let provider else { return false }
        do {
            _ = try await bus.call(
                provider.sender, provider.path, BTCallName.Interface.callProvider, member, arguments)
            requests.append("\(member) fulfilled")
            return true
        } catch {
            requests.append("\(member) refused: \(error.message)")
            return false
        }
    }
}
