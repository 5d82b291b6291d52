import BTCall
import BTCallAPI
import ControlLoop
import DBus
import Foundation

/// `org.btcall` as a client sees it: devices, preferences, calls, and the audio of one call, clocked as fast as it is
/// answered.
@ControlPlane
final class FakeDaemon {
    /// How a call goes on after it was reported.
    enum Course {
        /// It stays as it is until the provider or a client says more.
        case rings
        /// A headset's button answers it, and ends it when all blocks are exchanged.
        case headsetAnswersAndEnds
    }

    let bus: BusConnection
    var router = RouterState()
    var manager = ManagerDescription(version: "test", state: .active)
    var explanation = ExplanationDescription(chosen: .none, level: "", reason: "", levels: [], text: [])
    var isMuted = false
    var course = Course.rings
    /// What the headset's microphone gives the call.
    var microphone: [Int16] = []
    /// What came from the far end.
    private(set) var heard: [Int16] = []
    private(set) var requests: [String] = []
    private(set) var calls: [CallDescription] = []
    private var provider: (sender: String, path: String, options: ProviderOptions)?
    private var audio: (descriptor: Int32, source: DescriptorSource, call: String)?
    private var sentFrames = 0

    init(_ address: String) async throws {
        bus = try BusConnection(.address(address))
        bus.exportObjectManager(at: BTCallPath.manager)
        bus.export([managerInterface()], at: BTCallPath.manager)
        bus.export([routerInterface()], at: BTCallPath.router)
        bus.export([callsInterface()], at: BTCallPath.calls)
        try await bus.requestName(BTCallName.bus)
    }

    func close() {
        endAudio()
        bus.close()
    }

    /// Changes the router's state and signals the properties that differ.
    func update(_ change: (inout RouterState) -> Void) {
        let before = router.properties
        change(&router)
        let changed = router.properties.filter { before[$0.key] != $0.value }.keys.sorted()
        bus.propertiesChanged(path: BTCallPath.router, interface: BTCallName.Interface.router, changed)
    }

    // MARK: Interfaces

    private func managerInterface() -> ExportedInterface {
        ExportedInterface(
            BTCallName.Interface.manager,
            properties: ["Version": "s", "State": "s", "Problems": "aa{sv}"].map { name, type in
                .init(name, type, get: { [unowned self] in manager.properties[name] ?? "" })
            })
    }

    private func routerInterface() -> ExportedInterface {
        let types = [
            "Started": "b", "Selected": "s", "ActiveRoute": "s", "Pending": "s", "Mode": "s", "Codec": "s",
            "Reason": "s", "Devices": "aa{sv}",
        ]
        let readable: [ExportedInterface.Property] = types.map { name, type in
            .init(name, type, get: { [unowned self] in router.properties[name] ?? "" })
        }
        let writable: [ExportedInterface.Property] = [
            .init(
                "Preferred", "s", get: { [unowned self] in router.properties["Preferred"] ?? "" },
                set: { [unowned self] value throws(BusError) in
                    let device = try Self.device(value)
                    update { $0.preferred = device }
                }),
            .init(
                "Default", "s", get: { [unowned self] in router.properties["Default"] ?? "" },
                set: { [unowned self] value throws(BusError) in
                    let device = try Self.device(value)
                    update { $0.defaultDevice = device }
                }),
        ]
        return ExportedInterface(
            BTCallName.Interface.router,
            methods: [
                method("Start") { daemon, _ in daemon.update { $0.isStarted = true } },
                method("Stop") { daemon, _ in daemon.update { $0.isStarted = false } },
                method("ClearSelection") { daemon, _ in daemon.update { $0.selected = .none } },
                method("Refresh") { _, _ in },
                method("Select", in: [("device", "s")]) { daemon, call throws(BusError) in
                    let device = try Self.device(call.arguments[0])
                    guard daemon.router.isStarted else {
                        throw APIError(.notStarted, "the router is stopped: `btcall start` starts it").busError
                    }
                    daemon.update { $0.selected = device }
                },
                .init("Explain", in: [("options", "a{sv}")], out: [("explanation", "a{sv}")]) { [unowned self] _ in
                    [.vardict(explanation.fields)]
                },
            ],
            signals: [.init("RouteChanged", [("old", "s"), ("new", "s"), ("reason", "s")])],
            properties: readable + writable)
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
                method("UnregisterProvider", in: [("provider", "o")]) { daemon, _ in daemon.provider = nil },
                .init("ReportIncoming", in: report, out: [("call", "o")]) { [unowned self] call in
                    requests.append("ReportIncoming \(call.arguments[1].stringValue ?? "")")
                    return [.objectPath(add(call, .incoming, .ringing))]
                },
                .init("ReportOutgoing", in: report, out: [("call", "o")]) { [unowned self] call in
                    requests.append("ReportOutgoing \(call.arguments[1].stringValue ?? "")")
                    return [.objectPath(add(call, .outgoing, .dialing))]
                },
            ],
            properties: [
                .init("Calls", "ao", get: { [unowned self] in .objectPaths(calls.map { BTCallPath.call($0.id) }) }),
                .init(
                    "Muted", "b", get: { [unowned self] in .bool(isMuted) },
                    set: { [unowned self] value in
                        isMuted = value.boolValue ?? false
                        bus.propertiesChanged(
                            path: BTCallPath.calls, interface: BTCallName.Interface.calls, ["Muted"])
                    }),
            ])
    }

    private func method(
        _ name: String, in arguments: [(name: String, signature: String)] = [],
        _ body: @escaping @ControlPlane (FakeDaemon, MethodCall) throws(BusError) -> Void
    ) -> ExportedInterface.Method {
        .init(name, in: arguments) { [unowned self] call throws(BusError) in
            requests.append(([name] + call.arguments.compactMap(\.stringValue)).joined(separator: " "))
            try body(self, call)
            return []
        }
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
    func addCall(_ call: CallDescription) -> String {
        let path = BTCallPath.call(call.id)
        calls.append(call)
        let types = [
            "Id": "s", "State": "s", "Direction": "s", "Number": "s", "Name": "s", "Provider": "s", "Index": "y",
            "StartedAt": "t",
        ]
        let callInterface = ExportedInterface(
            BTCallName.Interface.call,
            methods: [
                method("Answer", in: [("options", "a{sv}")]) { daemon, _ in daemon.change(path, .active) },
                method("End") { daemon, _ in daemon.end(path, reason: "local") },
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
                .init(name, type, get: { [unowned self] in find(path)?.properties[name] ?? "" })
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

    private func change(_ path: String, _ state: CallDescription.State, reason: String = "") {
        guard let index = calls.firstIndex(where: { BTCallPath.call($0.id) == path }) else { return }
        calls[index].state = state
        bus.emit(
            path: path, interface: BTCallName.Interface.call, member: BTCallName.Call.stateChanged,
            [.string(state.rawValue), .string(reason)])
        if state == .active { Task { @ControlPlane in await beginAudio(path) } }
    }

    private func end(_ path: String, reason: String) {
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

    /// Calls the provider; whether it fulfilled the request.
    private func ask(_ member: String, _ arguments: [Value]) async -> Bool {
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

    // MARK: Audio

    private func beginAudio(_ call: String) async {
        guard audio == nil, let provider else { return }
        var ends: [Int32] = [-1, -1]
        let type = Int32(SOCK_SEQPACKET.rawValue | SOCK_NONBLOCK.rawValue | SOCK_CLOEXEC.rawValue)
        guard socketpair(AF_UNIX, type, 0, &ends) == 0 else { return }
        // Only our end must not block.
        _ = fcntl(ends[1], F_SETFL, 0)
        let descriptor = ends[0]
        do {
            let source = try ControlLoop.shared.add(descriptor, .readable) { [unowned self] _ in exchange() }
            audio = (descriptor, source, call)
        } catch {
            return
        }
        let format = AudioFormat(rate: provider.options.rate)
        let theirs = PassedDescriptor(taking: ends[1])
        _ = await ask(
            BTCallName.CallProvider.audioReady,
            [.objectPath(call), .unixDescriptor(theirs), .vardict(format.fields)])
        // The pipe is kept filled with five blocks.
        for _ in 0..<5 { sendBlock() }
    }

    /// Takes the blocks that came, and sends one for each.
    private func exchange() {
        guard let audio else { return }
        var block = [Int16](repeating: 0, count: 960)
        while true {
            let bytes = recv(audio.descriptor, &block, 2 * block.count, 0)
            guard bytes > 0 else { return }
            heard += block[..<(bytes / 2)]
            sendBlock()
            guard heard.count >= microphone.count, course == .headsetAnswersAndEnds else { continue }
            course = .rings
            Task { @ControlPlane in
                if await ask(BTCallName.CallProvider.performEnd, [.objectPath(audio.call), "local"]) {
                    end(audio.call, reason: "local")
                }
            }
        }
    }

    private func sendBlock() {
        guard let audio, let provider, sentFrames < microphone.count else { return }
        let frames = provider.options.rate / 100
        var block = Array(microphone[sentFrames..<min(microphone.count, sentFrames + frames)])
        sentFrames += block.count
        _ = send(audio.descriptor, &block, 2 * block.count, Int32(MSG_NOSIGNAL))
    }

    private func endAudio() {
        guard let audio else { return }
        self.audio = nil
        audio.source.cancel()
        Glibc.close(audio.descriptor)
    }
}
