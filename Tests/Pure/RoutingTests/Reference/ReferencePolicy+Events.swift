import BluetoothTypes
import Routing

/// What each event says (docs/inside/Routing.md, sections 5, 8, 9 and 15).
extension ReferencePolicy {
    static func cause(of event: RoutingEvent) -> RouteChangeReason {
        switch event {
        case .start: .started
        case .stop: .stopped
        case .setPreferred, .setDefault: .preferenceChanged
        case .select, .clearSelection, .handsetOffHook, .handsetOnHook: .userSelection
        case .configure: .configurationChanged
        case .sessionActivated: .sessionActivated
        case .sessionDeactivated: .sessionDeactivated
        case .callOutgoing, .callIncoming, .callAnswered, .callResumed: .callStarted
        case .callMedia, .callRoutes: .mediaChanged
        case .callHeld: .callHeld
        case .callEnded: .callEnded
        case .headsetDisconnected, .headsetForgotten, .headsetProfile(_, _, isUp: false), .adapterPowered(false),
            .localLost:
            .oldDeviceUnavailable
        case .linkClosed(_, .linkLoss): .linkLoss
        case .linkClosed(_, .remote), .linkOpenedByHeadset: .headsetTransfer
        case .linkSilent, .linkResumed: .linkSilent
        case .linkFailed: .activationFailed
        case .interruptionBegan: .interruptionBegan
        case .interruptionEnded: .interruptionEnded
        default: .newDeviceAvailable
        }
    }

    /// Whether a headset that becomes unusable by this event is lost.
    static func isDown(_ event: RoutingEvent) -> Bool {
        switch event {
        case .headsetDisconnected, .headsetForgotten, .headsetProfile(_, _, isUp: false): true
        default: false
        }
    }

    mutating func take(_ event: RoutingEvent) {
        switch event {
        case .start, .stop, .setPreferred, .setDefault, .select, .clearSelection, .mute, .refresh, .configure:
            error = nil
            takeRequest(event)
        case .sessionActivated: isSessionActive = true
        case .sessionDeactivated: isSessionActive = false
        case .interruptionBegan: interruption = .begun
        case .interruptionEnded(let resume):
            if interruption != .none { interruption = resume || calls.isEmpty ? .none : .notResumed }
        case .callOutgoing, .callIncoming, .callMedia, .callRoutes, .callLocalMedia, .callTalking, .callAnswered,
            .callHeld, .callResumed, .callEnded:
            takeCall(event)
        case .headsetDescribed, .headsetPreference, .headsetResting, .headsetConnected, .headsetDisconnected,
            .headsetForgotten, .headsetProfile, .adapterPowered:
            takePresence(event)
        case .linkOpened, .linkFailed, .linkClosed, .linkOpenedByHeadset, .linkSilent, .linkResumed, .codecChanged:
            takeLink(event)
        case .jackPlugged, .jackUnplugged, .localLost, .localFound, .handsetOffHook, .handsetOnHook:
            takeBoard(event)
        case .deadlineReached: break
        }
    }

    // MARK: Requests

    private mutating func takeRequest(_ event: RoutingEvent) {
        switch event {
        case .start: isStarted = true
        case .stop:
            isStarted = false
            choice = nil
        case .setPreferred(let device):
            preferred = device
            choice = nil
            instruct(device)
        case .setDefault(let device):
            fallback = device
            instruct(device)
        case .select(let device): select(device)
        case .clearSelection: choice = nil
        case .mute(let isOn): isMuted = isOn
        case .configure(let new): configuration = new
        default: break
        }
    }

    private mutating func select(_ device: AudioDevice) {
        guard isStarted else {
            error = .notStarted
            return
        }
        guard canSelect(device) else {
            error = .unavailable
            return
        }
        choose(.device(device))
    }

    private func canSelect(_ device: AudioDevice) -> Bool {
        switch device {
        case .none: return false
        case .bluetooth: return !usableHeadsets.isEmpty && isSupported(.bluetooth, by: foreground)
        case .headset(let address): return mode(of: address) != nil && isSupported(.bluetooth, by: foreground)
        case .speakerphone, .wiredHeadset, .earpiece:
            guard let local = device.local else { return false }
            return isAvailable(local) && isSupported(local.kind, by: foreground)
        }
    }

    mutating func choose(_ device: Choice.Device, isByHook: Bool = false) {
        gestures += 1
        var new = Choice(device: device, order: gestures, isByHook: isByHook)
        if device == .device(.bluetooth) {
            let usable = usableHeadsets
            if !usable.contains(where: { isOrdinary($0) }) { new.others = Set(usable) }
        }
        choice = new
        if case .device(let device) = device { instruct(device) }
    }

    /// An explicit instruction for a headset waives its settling, its penalty and the dwell of others.
    private mutating func instruct(_ device: AudioDevice) {
        for address in addresses where device.names(address) {
            guard var headset = headsets[address] else { continue }
            headset.readyAt = min(headset.readyAt, now)
            headset.penaltyUntil = nil
            headset.penalties = 0
            headset.attempts = 0
            headset.retryAt = nil
            headset.isAskedFor = true
            headsets[address] = headset
        }
    }

    // MARK: Calls

    private mutating func takeCall(_ event: RoutingEvent) {
        switch event {
        case .callOutgoing(let name, let video, let routes, let audio):
            addCall(Call(name: name, state: .dialing, hasVideo: video, kinds: routes, sends: audio.sends))
        case .callIncoming(let name, let video, let routes, let audio):
            addCall(Call(name: name, state: .ringing, hasVideo: video, kinds: routes, sends: audio.sends))
        case .callMedia(let name, let audio, let video):
            guard let index = calls.firstIndex(where: { $0.name == name }) else { return }
            calls[index].sends = audio.sends
            calls[index].hasVideo = video != MediaDirection.off
        case .callRoutes(let name, let routes):
            guard let index = calls.firstIndex(where: { $0.name == name }) else { return }
            calls[index].kinds = routes
        case .callAnswered(let name, let via):
            guard let index = calls.firstIndex(where: { $0.name == name }),
                [.ringing, .dialing].contains(calls[index].state)
            else { return }
            activate(index)
            answer(via)
        case .callHeld(let name):
            guard let index = calls.firstIndex(where: { $0.name == name }) else { return }
            calls[index].state = .held
        case .callResumed(let name):
            guard let index = calls.firstIndex(where: { $0.name == name }) else { return }
            if calls[index].state == .held { activate(index) }
        case .callEnded(let name): endCall(name)
        default: break
        }
        if !foreground.isEmpty { isParked = false }
        if calls.count(where: { $0.state == .ringing }) > 1 { leaveOpen("two calls ring") }
    }

    private mutating func addCall(_ call: Call) {
        guard !calls.contains(where: { $0.name == call.name }) else { return }
        calls.append(call)
        restoring = []
        restoreDue = nil
    }

    private mutating func activate(_ index: Int) {
        for other in calls.indices where calls[other].state == .active { calls[other].state = .held }
        calls[index].state = .active
    }

    private mutating func answer(_ via: AnsweredVia?) {
        guard isStarted else { return }
        switch via {
        case .headset(let address):
            guard mode(of: address) != nil, isSupported(.bluetooth, by: foreground) else {
                return leaveOpen("answered with a headset that cannot be used")
            }
            choose(.device(.headset(address)))
        case .handset:
            guard isAvailable(.earpiece), isSupported(.earpiece, by: foreground) else {
                return leaveOpen("answered with a handset that cannot be used")
            }
            choose(.device(.earpiece), isByHook: true)
        case nil: break
        }
    }

    private mutating func endCall(_ name: String) {
        guard let index = calls.firstIndex(where: { $0.name == name }) else { return }
        calls.remove(at: index)
        guard calls.isEmpty else { return }
        if mistake != .choiceSurvivesCalls { choice = nil }
        plug = nil
        isMuted = false
        isParked = false
        if interruption == .notResumed { interruption = .none }
        if let address = current?.address, current?.mode == .hfp, headsets[address]?.profiles.contains(.a2dp) == true {
            restoring = [address]
            restoreDue = now.advanced(by: configuration.mediaRestore)
        }
        if addresses.contains(where: { link($0).silence != nil }) { leaveOpen("the last call ends during a silence") }
    }

    // MARK: Presence

    private mutating func takePresence(_ event: RoutingEvent) {
        switch event {
        case .headsetDescribed(let address, let category, let inbandRing):
            headsets[address, default: Headset()].category = category
            headsets[address, default: Headset()].hasInbandRing = inbandRing
        case .headsetConnected(let address, let profiles):
            headsets[address, default: Headset()].profiles.formUnion(profiles)
        case .headsetDisconnected(let address):
            headsets[address]?.profiles = []
            noteClosed(address)
        case .headsetForgotten(let address): headsets[address] = nil
        case .headsetProfile(let address, let profile, isUp: true):
            headsets[address, default: Headset()].profiles.insert(profile)
        case .headsetProfile(let address, let profile, isUp: false):
            headsets[address]?.profiles.remove(profile)
            if link(address).mode == profile { noteClosed(address) }
        case .adapterPowered(let isPowered):
            isAdapterPowered = isPowered
            if !isPowered {
                for address in addresses { noteClosed(address) }
            }
        default: break
        }
    }

    // MARK: The board

    private mutating func takeBoard(_ event: RoutingEvent) {
        switch event {
        case .jackPlugged(let microphone): takeEdge(microphone ? .headset : .headphones)
        case .jackUnplugged: takeEdge(.empty)
        case .localLost(.wiredHeadset):
            transducers.remove(.wiredHeadset)
            isJackLost = jack != .empty
        case .localLost(let local): transducers.remove(local)
        case .localFound(.wiredHeadset):
            if !isWiredPresent { wiredSince = now }
            if jack == .empty { transducers.insert(.wiredHeadset) } else { isJackLost = false }
        case .localFound(let local): transducers.insert(local)
        case .handsetOffHook:
            guard isStarted, !calls.isEmpty, isAvailable(.earpiece) else { return }
            guard isSupported(.earpiece, by: foreground) else {
                return leaveOpen("a handset is lifted in a call that does not support it")
            }
            choose(.device(.earpiece), isByHook: true)
        case .handsetOnHook:
            if choice?.isByHook == true { choice = nil }
        default: break
        }
    }

    private mutating func takeEdge(_ state: JackState) {
        guard state != rawJack else { return }
        rawJack = state
        jackDue = now.advanced(by: configuration.jackDebounce)
    }

    /// Believes the jack once it has been quiet.
    mutating func settleJack() {
        jackDue = nil
        guard rawJack != jack else { return }
        let old = jack
        jack = rawJack
        if jack == .empty {
            cause = .oldDeviceUnavailable
            plug = nil
            isJackLost = false
        } else if old == .empty {
            cause = .newDeviceAvailable
            isJackLost = false
            wiredSince = now
            let isGesture =
                switch configuration.jackGesture {
                case .off: false
                case .midCall: !calls.isEmpty
                case .latched: true
                }
            if isGesture, mistake != .plugIsNoGesture {
                gestures += 1
                plug = gestures
            }
        } else {
            leaveOpen("another plug without unplugging the first")
        }
    }
}
