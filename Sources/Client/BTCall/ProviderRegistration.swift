import BTCallAPI
import ControlLoop
import DBus

/// A telephony application's registration at the bridge: reports its calls and keeps them up to date.
///
/// It ends with ``unregister()``, with the connection, and when the daemon goes: `CallProvider.released()` is called then,
/// and the application may register again once the daemon is back. A restart of the bus does not end it: calls and their
/// audio continue, and the registration is restored with them within a minute; requests fail meanwhile.
///
/// Keep this object as long as calls may come or exist: without it the daemon's requests are refused, `audioReady` among
/// them, and calls have no audio.
public final class ProviderRegistration: Sendable {
    private let proxy: ProviderProxy

    init(_ provider: some CallProvider, as description: CallProviderDescription, on connection: BridgeConnection)
        async throws(BridgeError)
    {
        proxy = await ProviderProxy(provider, on: connection)
        try await proxy.register(description.options)
    }

    /// Reports an incoming call: the headsets ring.
    ///
    /// - Parameters:
    ///   - number: the number to show, or an address with a scheme; empty when withheld.
    ///   - remoteAddress: the far end's address when it differs from the number.
    ///   - capabilities: capabilities of this call, a subset of the registered ones; nil for all of them.
    ///   - routes: kinds of device that this call may use; nil for all of them.
    ///   - talk: how the far end hears the person; nil: as registered.
    /// - Throws: `.filtered` while do not disturb is on, `.busy` when a second call is refused; the call does not ring then.
    public func reportIncoming(
        number: String, name: String? = nil, media: CallMedia = CallMedia(), remoteAddress: String? = nil,
        capabilities: Set<CallProviderDescription.Capability>? = nil, routes: Set<Call.Route>? = nil,
        talk: TalkMode? = nil
    ) async throws(BridgeError) -> Call.ID {
        var options = ReportOptions(name: name, remoteAddress: remoteAddress)
        options.talk = talk?.word
        options.routes = routes?.words
        options.capabilities = capabilities?.words
        return try await proxy.report(
            BTCallName.Calls.reportIncoming, number,
            options.incomingFields.merging(mediaOptions(media.audio, media.video)) { _, new in new })
    }

    /// Reports new camera settings of a video call; btcalld signals them to everybody
    /// (``BridgeEvent/cameraSettingsChanged(_:_:)``).
    public func reportCamera(_ settings: CameraSettings, of call: Call.ID) async throws(BridgeError) {
        try await proxy.request(call, BTCallName.Call.reportCamera, [.vardict(settings.description.fields)])
    }

    /// Reports an outgoing call.
    ///
    /// - Parameters:
    ///   - state: `.dialing`; `.alerting` when the other side rings already; `.active` when it has answered.
    ///   - monotonicTimeMs: beginning of that state, in milliseconds of `CLOCK_MONOTONIC`; nil: now.
    ///   - capabilities: capabilities of this call, a subset of the registered ones; nil for all of them.
    ///   - routes: kinds of device that this call may use; nil for all of them.
    ///   - talk: how the far end hears the person; nil: as registered.
    public func reportOutgoing(
        number: String, name: String? = nil, state: Call.State = .dialing, media: CallMedia = CallMedia(),
        capabilities: Set<CallProviderDescription.Capability>? = nil, routes: Set<Call.Route>? = nil,
        talk: TalkMode? = nil, monotonicTimeMs: Int64? = nil
    ) async throws(BridgeError) -> Call.ID {
        var options = ReportOptions(name: name, state: CallDescription.State(state))
        options.talk = talk?.word
        options.routes = routes?.words
        options.time = monotonicTimeMs.map { UInt64(clamping: $0) }
        options.capabilities = capabilities?.words
        return try await proxy.report(
            BTCallName.Calls.reportOutgoing, number,
            options.outgoingFields.merging(mediaOptions(media.audio, media.video)) { _, new in new })
    }

    /// Reports a change of the call at the other side.
    ///
    /// - Parameters:
    ///   - state: `.alerting`, `.active`, `.held` or `.ended`; the present one to leave it unchanged.
    ///   - reason: the reason of its end; by default the other side hung up.
    ///   - monotonicTimeMs: time of the change, in milliseconds of `CLOCK_MONOTONIC`, for `.active` and `.ended`; nil: now.
    ///   - ssrcs: the synchronisation sources of the call's RTP streams, at most 16, for diagnosis; nil leaves them
    ///     unchanged.
    public func update(
        _ call: Call.ID, _ state: Call.State, reason: Call.EndReason? = nil, ssrcs: [UInt32]? = nil,
        monotonicTimeMs: Int64? = nil
    ) async throws(BridgeError) {
        try await proxy.update(call, state, reason: reason, ssrcs: ssrcs, monotonicTimeMs)
    }

    /// Reports new data of the call, in any state; nil leaves a part unchanged.
    ///
    /// - Parameters:
    ///   - name: the other party's name.
    ///   - handle: the number to show, or an address with a scheme.
    ///   - hasVideo: whether it is a video call.
    ///   - capabilities: capabilities of this call, a subset of the registered ones.
    ///   - routes: kinds of device that this call may use, at least one.
    ///   - talk: how the far end hears the person.
    public func update(
        _ call: Call.ID, name: String? = nil, handle: String? = nil, hasVideo: Bool? = nil,
        capabilities: Set<CallProviderDescription.Capability>? = nil, routes: Set<Call.Route>? = nil,
        talk: TalkMode? = nil
    ) async throws(BridgeError) {
        var options: [String: Value] = [:]
        options["talk"] = talk.map { .string($0.rawValue) }
        options["name"] = name.map { .string($0) }
        options["number"] = handle.map { .string($0) }
        options["video"] = hasVideo.map { .bool($0) }
        options["capabilities"] = capabilities.map { .strings($0.words.map(\.rawValue).sorted()) }
        options["routes"] = routes.map { .strings($0.words.map(\.rawValue)) }
        try await proxy.request(call, BTCallName.Call.update, [.string(""), .vardict(options)])
    }

    /// Reports the end of all its calls.
    ///
    /// - Parameter reason: by default the other side hung up.
    public func removeAllCalls(reason: Call.EndReason = .remoteHangUp) async throws(BridgeError) {
        for call in await proxy.own {
            do throws(BridgeError) {
                try await update(call, .ended, reason: reason)
            } catch {
                // It has ended meanwhile.
                guard error.code == .noSuchCall else { throw error }
            }
        }
    }

    /// Reports that the other side asks for other directions of audio or video; nil leaves a direction unchanged.
    ///
    /// Returns when they are in force: the daemon, or a client that it asked, has agreed, and `performMediaChange` has
    /// returned.
    /// - Throws: `.accessDenied` when the change is refused, `.timedOut` when nobody answers within 20 seconds.
    public func requestMediaChange(
        of call: Call.ID, audio: CallMedia.Direction? = nil, video: CallMedia.Direction? = nil
    ) async throws(BridgeError) {
        try await proxy.requestMediaChange(of: call, mediaOptions(audio, video))
    }

    /// Takes the floor back from the person who talks, because somebody else has it: the microphone closes at once.
    ///
    /// - Throws: `.wrongState` when nobody talks on the call or waits to, and without the capability `talk`.
    public func revokeTalk(of call: Call.ID) async throws(BridgeError) {
        try await proxy.request(call, BTCallName.Call.revokeTalk, [])
    }

    /// Ends all its calls and the registration.
    public func unregister() async throws(BridgeError) {
        try await proxy.unregister()
    }
}

/// The object that the daemon calls: `org.btcall.CallProvider1`.
@ControlPlane
final class ProviderProxy {
    private let provider: any CallProvider
    let connection: BridgeConnection
    private let path: String
    private var presence: Subscription?
    /// The daemon's own name on the bus while registered with it; calls from others are refused.
    var daemon: String?
    /// The registered options.
    var options: ProviderOptions?
    /// Calls of this provider, as far as it knows them.
    var own: Set<Call.ID> = []
    /// Runs while the bus is absent.
    var absence: Timer?

    init(_ provider: any CallProvider, on connection: BridgeConnection) {
        self.provider = provider
        self.connection = connection
        path = connection.nextProviderPath()
    }

    func register(_ options: ProviderOptions) async throws(BridgeError) {
        self.options = options
        let bus = connection.connection
        bus.export([interface()], at: path)
        do throws(BridgeError) {
            // A request to the daemon also starts it, where the bus can do that.
            _ = try await connection.properties(BTCallPath.manager, BTCallName.Interface.manager)
            let owner: String
            do {
                owner = try await bus.owner(of: BTCallName.bus)
            } catch {
                throw BridgeError(error, on: connection.bus)
            }
            daemon = owner
            try await request(options)
        } catch {
            bus.unexport(path: path)
            throw error
        }
        presence = bus.watchName(BTCallName.bus) { [weak self] owner in self?.ownerChanged(owner) }
    }

    func report(_ member: String, _ number: String, _ options: [String: Value]) async throws(BridgeError) -> Call.ID {
        let reply = try await calls(member, [.objectPath(path), .string(number), .vardict(options)])
        guard let call = reply.first?.stringValue else {
            throw BridgeError(.failed, "btcalld took the call, but gave it no object")
        }
        own.insert(Call.ID(path: call))
        return Call.ID(path: call)
    }

    /// Registers, or restores the registration.
    func request(_ options: ProviderOptions) async throws(BridgeError) {
        try await calls(BTCallName.Calls.registerProvider, [.objectPath(path), .vardict(options.fields)])
    }

    func update(
        _ call: Call.ID, _ state: Call.State, reason: Call.EndReason?, ssrcs: [UInt32]?, _ monotonicTimeMs: Int64?
    ) async throws(BridgeError) {
        var options: [String: Value] = [:]
        if let reason { options["reason"] = .string(reason.rawValue) }
        options["time"] = monotonicTimeMs.map { .uint64(UInt64(clamping: $0)) }
        if let ssrcs { options["ssrcs"] = .array("u", ssrcs.map { .uint32($0) }) }
        try await connection.request(
            call.path, BTCallName.Interface.call, BTCallName.Call.update, [.string(state.rawValue), .vardict(options)])
        if state == .ended { own.remove(call) }
    }

    func request(_ call: Call.ID, _ member: String, _ arguments: [Value]) async throws(BridgeError) {
        try await connection.request(call.path, BTCallName.Interface.call, member, arguments)
    }

    func requestMediaChange(of call: Call.ID, _ media: [String: Value]) async throws(BridgeError) {
        try await request(call, BTCallName.Call.requestMediaChange, [.vardict(media)])
    }

    func unregister() async throws(BridgeError) {
        forget()
        defer { connection.connection.unexport(path: path) }
        try await calls(BTCallName.Calls.unregisterProvider, [.objectPath(path)])
    }

    @discardableResult
    private func calls(_ member: String, _ arguments: [Value]) async throws(BridgeError) -> [Value] {
        try await connection.request(BTCallPath.calls, BTCallName.Interface.calls, member, arguments)
    }

    private func forget() {
        presence?.cancel()
        presence = nil
        absence?.cancel()
        absence = nil
        daemon = nil
    }

    func end() {
        forget()
        connection.connection.unexport(path: path)
        let provider = provider
        Task { @ControlPlane in await provider.released() }
    }

    private func interface() -> ExportedInterface {
        ExportedInterface(
            BTCallName.Interface.callProvider,
            methods: [
                method(
                    BTCallName.CallProvider.performStart, in: [("call", "o"), ("number", "s"), ("options", "a{sv}")]
                ) { provider, arguments throws(ProviderRefusal) in
                    let options = arguments[2].vardictValue ?? [:]
                    try await provider.performStart(
                        Self.call(arguments), number: arguments[1].stringValue ?? "", media: CallMedia(options),
                        account: CallAccount(AccountDescription(options)))
                },
                method(BTCallName.CallProvider.performAnswer, in: [("call", "o"), ("options", "a{sv}")]) {
                    provider, arguments throws(ProviderRefusal) in
                    let options = arguments[1].vardictValue ?? [:]
                    try await provider.performAnswer(
                        Self.call(arguments), media: CallMedia(options),
                        account: CallAccount(AccountDescription(options)))
                },
                method(BTCallName.CallProvider.performEnd, in: [("call", "o"), ("reason", "s")]) {
                    provider, arguments throws(ProviderRefusal) in
                    try await provider.performEnd(Self.call(arguments), reason: arguments[1].stringValue ?? "")
                },
                method(BTCallName.CallProvider.performSetHeld, in: [("call", "o"), ("held", "b")]) {
                    provider, arguments throws(ProviderRefusal) in
                    try await provider.performSetHeld(Self.call(arguments), arguments[1].boolValue ?? false)
                },
                method(BTCallName.CallProvider.performDTMF, in: [("call", "o"), ("tones", "s")]) {
                    provider, arguments throws(ProviderRefusal) in
                    try await provider.performDTMF(Self.call(arguments), tones: arguments[1].stringValue ?? "")
                },
                method(BTCallName.CallProvider.performSetMuted, in: [("call", "o"), ("muted", "b")]) {
                    provider, arguments throws(ProviderRefusal) in
                    try await provider.performSetMuted(Self.call(arguments), arguments[1].boolValue ?? false)
                },
                method(BTCallName.CallProvider.performTalk, in: [("call", "o"), ("pressed", "b")]) {
                    provider, arguments throws(ProviderRefusal) in
                    try await provider.performTalk(Self.call(arguments), arguments[1].boolValue ?? false)
                },
                method(BTCallName.CallProvider.performMediaChange, in: [("call", "o"), ("media", "a{sv}")]) {
                    provider, arguments throws(ProviderRefusal) in
                    let media = arguments[1].vardictValue ?? [:]
                    try await provider.performMediaChange(
                        Self.call(arguments), CallMedia(media), isCameraOn: media["localVideo"]?.boolValue ?? true)
                },
                method(BTCallName.CallProvider.performSwap, in: [("hold", "o"), ("resume", "o")]) {
                    provider, arguments throws(ProviderRefusal) in
                    try await provider.performSwap(
                        hold: Self.call(arguments), resume: Call.ID(path: arguments[1].stringValue ?? ""))
                },
                method(BTCallName.CallProvider.performConference, in: [("calls", "ao")]) {
                    provider, arguments throws(ProviderRefusal) in
                    let paths = arguments[0].arrayValue?.compactMap(\.stringValue) ?? []
                    try await provider.performConference(paths.map { Call.ID(path: $0) })
                },
                method(
                    BTCallName.CallProvider.audioReady, in: [("call", "o"), ("audio", "h"), ("format", "a{sv}")]
                ) { provider, arguments throws(ProviderRefusal) in
                    await provider.audioReady(Self.call(arguments), try Self.audio(arguments))
                },
                .init(BTCallName.CallProvider.released) { [weak self] call throws(BusError) in
                    try self?.check(call)
                    self?.end()
                    return []
                },
            ])
    }

    /// Handles one request from the daemon. Its arguments have been checked against the signature.
    private func method(
        _ name: String, in arguments: [(name: String, signature: String)],
        _ body: @escaping @ControlPlane (any CallProvider, [Value]) async throws(ProviderRefusal) -> Void
    ) -> ExportedInterface.Method {
        .init(name, in: arguments) { [weak self] call throws(BusError) in
            guard let self else { throw APIError(.noSuchProvider, "this provider is not registered").busError }
            try check(call)
            if name == BTCallName.CallProvider.performStart { own.insert(Self.call(call.arguments)) }
            do throws(ProviderRefusal) {
                try await body(provider, call.arguments)
                if name == BTCallName.CallProvider.performEnd { own.remove(Self.call(call.arguments)) }
                return []
            } catch {
                throw error.busError
            }
        }
    }

    /// Refuses callers other than the daemon that the provider is registered with.
    private func check(_ call: MethodCall) throws(BusError) {
        guard call.sender == daemon else {
            throw BusError.accessDenied("\(call.sender) is not the owner of \(BTCallName.bus)")
        }
    }

    private static func call(_ arguments: [Value]) -> Call.ID {
        Call.ID(path: arguments.first?.stringValue ?? "")
    }

    private static func audio(_ arguments: [Value]) throws(ProviderRefusal) -> CallAudio {
        guard let descriptor = arguments[1].descriptorValue, let values = arguments[2].vardictValue else {
            throw .failed("AudioReady came without a descriptor")
        }
        let format: AudioFormat
        do {
            format = try AudioFormat(Fields(values, of: "AudioReady format"))
        } catch {
            throw .notSupported(error.message)
        }
        return CallAudio(descriptor, format)
    }
}
