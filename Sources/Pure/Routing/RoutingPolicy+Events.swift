import BluetoothTypes

/// Updates facts from each event, without deciding anything (docs/inside/Routing.md §3).
extension RoutingPolicy {
    /// - Returns: the reason for a change of route that this event causes; nil when there is nothing to decide.
    mutating func apply(_ event: RoutingEvent, at now: Instant) -> RouteChangeReason? {
        switch event {
        case .start, .stop, .setPreferred, .setDefault, .select, .clearSelection, .mute, .refresh:
            error = nil
            return applyRequest(event, at: now)
        case .configure(let new):
            return configure(new)
        case .sessionActivated:
            return noteSession(isActive: true)
        case .sessionDeactivated:
            return noteSession(isActive: false)
        case .callOutgoing(let call, let video, let routes, let audio):
            return addCall(call, .dialing, video: video, routes: routes, audio: audio)
        case .callIncoming(let call, let video, let routes, let audio):
            return addCall(call, .ringing, video: video, routes: routes, audio: audio)
        case .callMedia(let call, let audio, let video):
            return changeMedia(of: call, audio: audio, video: video)
        case .callRoutes(let call, let routes):
            return changeRoutes(of: call, routes)
        case .callLocalMedia, .callTalking:
            return nil
        case .callAnswered(let call, let via):
            return answer(call, via: via, at: now)
        case .callHeld(let call):
            return hold(call)
        case .callResumed(let call):
            return resumeCall(call)
        case .callEnded(let call):
            return endCall(call, at: now)
        case .headsetDescribed(let address, let category, let inbandRing):
            return describe(address, category, inbandRing: inbandRing)
        case .headsetPreference(let address, let takesCalls):
            return notePreference(of: address, takesCalls: takesCalls)
        case .headsetResting(let address, let isResting):
            return noteRest(of: address, isResting)
        case .headsetConnected(let address, let profiles):
            return connect(address, profiles)
        case .headsetDisconnected(let address):
            return disconnect(address)
        case .headsetForgotten(let address):
            return forget(address)
        case .headsetProfile(let address, let profile, let isUp):
            return noteProfile(profile, isUp: isUp, of: address, at: now)
        case .adapterPowered(let isPowered):
            return noteAdapter(isPowered: isPowered)
        case .linkOpened, .linkFailed, .linkClosed, .linkOpenedByHeadset, .linkSilent, .linkResumed, .codecChanged:
            return applyLinkReport(event, at: now)
        case .jackPlugged(let microphone):
            return noteJackEdge(microphone ? .headset : .headphones, at: now)
        case .jackUnplugged:
            return noteJackEdge(.empty, at: now)
        case .localLost(let local):
            return loseLocal(local)
        case .localFound(let local):
            return findLocal(local, at: now)
        case .handsetOffHook:
            return liftHandset(at: now)
        case .handsetOnHook:
            return hangUpHandset()
        case .interruptionBegan:
            return beginInterruption()
        case .interruptionEnded(let resume):
            return endInterruption(resuming: resume)
        case .deadlineReached:
            // Due deadlines are handled before any event.
            return nil
        }
    }

    // MARK: Requests

    private mutating func applyRequest(_ event: RoutingEvent, at now: Instant) -> RouteChangeReason? {
        switch event {
        case .start:
            started = true
            return .started
        case .stop:
            started = false
            choice = nil
            return .stopped
        case .setPreferred(let device):
            preferred = device
            choice = nil
            instruct(device, at: now)
            return .preferenceChanged
        case .setDefault(let device):
            defaultDevice = device
            instruct(device, at: now)
            return .preferenceChanged
        case .select(let device):
            if let refusal = refusal(ofSelecting: device) {
                error = refusal
                effects.append(.selectionRefused(device, refusal))
                return nil
            }
            choose(.device(device), by: .selection, at: now)
            return .userSelection
        case .clearSelection:
            choice = nil
            return .userSelection
        case .refresh:
            if let current { effects.append(.refreshPath(current)) }
            return nil
        default:
            return nil
        }
    }

    private mutating func configure(_ new: RoutingConfiguration) -> RouteChangeReason {
        error = nil
        configuration = new
        applyConfigurationToHeadsets()
        return .configurationChanged
    }

    private mutating func noteSession(isActive: Bool) -> RouteChangeReason {
        isSessionActive = isActive
        return isActive ? .sessionActivated : .sessionDeactivated
    }

    /// Reason why a selection is refused now; nil when it is possible.
    package func refusal(ofSelecting device: AudioDevice) -> RoutingError? {
        guard started else { return .notStarted }
        let isPossible =
            switch device {
            case .none: false
            case .speakerphone, .wiredHeadset, .earpiece:
                device.local.map { obstacle(for: $0, foreground: foregroundCalls) == nil } ?? false
            case .bluetooth, .headset:
                foregroundCalls.allSatisfy { $0.supports(.bluetooth) }
                    && headsets.contains { device.names($0.address) && mode(of: $0) != nil }
            }
        return isPossible ? nil : .unavailable
    }

    /// Makes an explicit choice; a repeated one is a new gesture.
    mutating func choose(_ device: DeviceChoice.Device, by origin: DeviceChoice.Origin, at now: Instant) {
        gestures += 1
        choice = DeviceChoice(
            device: device, origin: origin, sequence: gestures, madeAt: now, others: otherHeadsets(chosenBy: device))
        switch device {
        case .device(let named): instruct(named, at: now)
        case .local: break
        }
    }

    /// Headsets that are not used automatically and that a choice of any headset names: the usable ones, while no other
    /// headset is usable.
    private func otherHeadsets(chosenBy device: DeviceChoice.Device) -> [BluetoothAddress] {
        guard device == .device(.bluetooth) else { return [] }
        let usable = headsets.filter { mode(of: $0) != nil }
        return usable.contains(where: isUsedAutomatically) ? [] : usable.map(\.address)
    }

    /// Waives settling, penalty and dwell of the headsets that an explicit instruction names (docs/inside/Routing.md §5).
    private mutating func instruct(_ device: AudioDevice, at now: Instant) {
        for index in headsets.indices where device.names(headsets[index].address) {
            guard mode(of: headsets[index]) != nil else { continue }
            headsets[index].readyAt = min(headsets[index].readyAt, now)
            headsets[index].forgetFailures()
            headsets[index].dwellWaived = true
            headsets[index].limitWaived = true
        }
    }

    // MARK: Calls

    private mutating func addCall(
        _ identifier: String, _ state: RoutingCall.State, video: Bool, routes: [DeviceKind]?, audio: MediaDirection
    ) -> RouteChangeReason? {
        guard !calls.contains(where: { $0.identifier == identifier }) else { return nil }
        let call = RoutingCall(
            identifier: identifier, state: state, video: video, routes: routes, wantsMicrophone: audio.sends)
        calls.append(call)
        mediaRestore = nil
        if call.isForeground { isParked = false }
        return .callStarted
    }

    private mutating func changeMedia(
        of call: String, audio: MediaDirection, video: MediaDirection
    ) -> RouteChangeReason? {
        guard let index = calls.firstIndex(where: { $0.identifier == call }) else { return nil }
        calls[index].wantsMicrophone = audio.sends
        calls[index].video = video != .off
        return .mediaChanged
    }

    private mutating func changeRoutes(of call: String, _ routes: [DeviceKind]?) -> RouteChangeReason? {
        guard let index = calls.firstIndex(where: { $0.identifier == call }) else { return nil }
        calls[index].routes = routes
        return .mediaChanged
    }

    private mutating func answer(_ call: String, via: AnsweredVia?, at now: Instant) -> RouteChangeReason? {
        guard activate(call, from: [.ringing, .dialing]) else { return nil }
        guard started else { return .callStarted }
        switch via {
        case .headset(let address):
            if usableMode(of: address) != nil {
                choose(.device(.headset(address)), by: .headsetButton, at: now)
            }
        case .handset:
            if obstacle(for: .earpiece, foreground: foregroundCalls) == nil {
                choose(.device(.earpiece), by: .handset, at: now)
            }
        case nil: break
        }
        return .callStarted
    }

    private mutating func resumeCall(_ call: String) -> RouteChangeReason? {
        activate(call, from: [.held]) ? .callStarted : nil
    }

    /// Holds a call in any state: a provider may hold one before it reports the answer.
    private mutating func hold(_ call: String) -> RouteChangeReason? {
        guard let index = calls.firstIndex(where: { $0.identifier == call }), calls[index].state != .held else {
            return nil
        }
        calls[index].state = .held
        return .callHeld
    }

    /// Makes a call in one of these states active and holds the other active calls; false for any other.
    private mutating func activate(_ call: String, from states: [RoutingCall.State]) -> Bool {
        guard let index = calls.firstIndex(where: { $0.identifier == call }), states.contains(calls[index].state) else {
            return false
        }
        for other in calls.indices where calls[other].state == .active { calls[other].state = .held }
        calls[index].state = .active
        isParked = false
        return true
    }

    private mutating func endCall(_ call: String, at now: Instant) -> RouteChangeReason? {
        guard let index = calls.firstIndex(where: { $0.identifier == call }) else { return nil }
        calls.remove(at: index)
        guard calls.isEmpty else { return .callEnded }
        let users = headsets.filter { $0.a2dp && isAdapterPowered && $0.link.opened?.mode == .hfp }.map(\.address)
        if !users.isEmpty {
            mediaRestore = MediaRestore(addresses: users, deadline: now.advanced(by: configuration.mediaRestore))
        }
        choice = nil
        isParked = false
        if configuration.jackGesture != .latched { plugGesture = nil }
        if interruption == .notResumed { interruption = .none }
        return .callEnded
    }

    // MARK: Board

    private mutating func noteJackEdge(_ state: JackState, at now: Instant) -> RouteChangeReason? {
        guard state != jackEdge?.state ?? jack else { return nil }
        jackEdge = JackEdge(state: state, deadline: now.advanced(by: configuration.jackDebounce))
        return expireJackEdge(at: now)
    }

    /// Accepts the jack's state when it has been quiet for long enough.
    mutating func expireJackEdge(at now: Instant) -> RouteChangeReason? {
        guard let edge = jackEdge, edge.deadline <= now else { return nil }
        jackEdge = nil
        let old = jack
        jack = edge.state
        switch (old, edge.state) {
        case (.empty, .empty): return nil
        case (_, .empty):
            plugGesture = nil
            isWiredLost = false
            if !hasDetachedWired { wiredAttachedAt = nil }
            return .oldDeviceUnavailable
        case (.empty, _):
            isWiredLost = false
            wiredAttachedAt = now
            let isGesture =
                switch configuration.jackGesture {
                case .off: false
                case .midCall: !calls.isEmpty
                case .latched: true
                }
            if isGesture {
                gestures += 1
                plugGesture = gestures
            }
            return .newDeviceAvailable
        case (.headset, _), (.headphones, _):
            return .newDeviceAvailable
        }
    }

    private mutating func loseLocal(_ local: LocalDevice) -> RouteChangeReason? {
        switch local {
        case .speakerphone, .earpiece:
            guard locals.remove(local) != nil else { return nil }
        case .wiredHeadset:
            guard isWiredPresent else { return nil }
            isWiredLost = jack != .empty
            hasDetachedWired = false
            wiredAttachedAt = nil
        }
        return .oldDeviceUnavailable
    }

    private mutating func findLocal(_ local: LocalDevice, at now: Instant) -> RouteChangeReason? {
        switch local {
        case .speakerphone, .earpiece:
            guard locals.insert(local).inserted else { return nil }
        case .wiredHeadset:
            guard !isWiredPresent else { return nil }
            if jack == .empty {
                hasDetachedWired = true
            } else {
                isWiredLost = false
            }
            wiredAttachedAt = now
        }
        return .newDeviceAvailable
    }

    private mutating func liftHandset(at now: Instant) -> RouteChangeReason? {
        guard started, !calls.isEmpty, obstacle(for: .earpiece, foreground: foregroundCalls) == nil else {
            return nil
        }
        choose(.device(.earpiece), by: .handset, at: now)
        return .userSelection
    }

    private mutating func hangUpHandset() -> RouteChangeReason? {
        guard choice?.origin == .handset else { return nil }
        choice = nil
        return .userSelection
    }

    private mutating func beginInterruption() -> RouteChangeReason {
        interruption = .begun
        return .interruptionBegan
    }

    private mutating func endInterruption(resuming resume: Bool) -> RouteChangeReason? {
        guard interruption != .none else { return nil }
        // Without a call nobody is kept from the audio.
        interruption = resume || calls.isEmpty ? .none : .notResumed
        return .interruptionEnded
    }
}
