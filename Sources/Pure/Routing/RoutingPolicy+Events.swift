import BluetoothTypes

/// Facts: what each event says, without deciding anything (routing policy §3).
extension RoutingPolicy {
    /// - Returns: the reason that a change of route has if this event causes one; nil when there is nothing to decide.
    mutating func apply(_ event: RoutingEvent, at now: Instant) -> RouteChangeReason? {
        switch event {
        case .start, .stop, .setPreferred, .setDefault, .select, .clearSelection, .mute, .refresh:
            error = nil
            return applyRequest(event, at: now)
        case .configure(let new):
            error = nil
            configuration = new
            applyConfigurationToHeadsets()
            return .configurationChanged
        case .sessionActivated:
            isSessionActive = true
            return .sessionActivated
        case .sessionDeactivated:
            isSessionActive = false
            return .sessionDeactivated
        case .callOutgoing(let call, let video, let routes, let audio):
            return addCall(
                RoutingCall(
                    identifier: call, state: .dialing, video: video, routes: routes, wantsMicrophone: audio.sends))
        case .callIncoming(let call, let video, let routes, let audio):
            return addCall(
                RoutingCall(
                    identifier: call, state: .ringing, video: video, routes: routes, wantsMicrophone: audio.sends))
        case .callMedia(let call, let audio, let video):
            guard let index = calls.firstIndex(where: { $0.identifier == call }) else { return nil }
            calls[index].wantsMicrophone = audio.sends
            calls[index].video = video != .off
            return .mediaChanged
        case .callLocalMedia:
            return nil
        case .callAnswered(let call, let via):
            return answer(call, via: via, at: now)
        case .callHeld(let call):
            return change(call, from: .active, to: .held) ? .callHeld : nil
        case .callResumed(let call):
            guard change(call, from: .held, to: .active) else { return nil }
            holdOthers(than: call)
            isParked = false
            return .callStarted
        case .callEnded(let call):
            return endCall(call, at: now)
        case .headsetDescribed(let address, let category, let inbandRing):
            update(address, adding: true) { headset in
                headset.category = category
                headset.supportsInbandRing = inbandRing
            }
            return .newDeviceAvailable
        case .headsetWish(let address, let takesCalls):
            update(address) { $0.declinesCalls = !takesCalls }
            return .newDeviceAvailable
        case .headsetConnected(let address, let profiles):
            update(address, adding: true) { headset in
                for profile in profiles { headset.setProfile(profile, isUp: true) }
            }
            return .newDeviceAvailable
        case .headsetDisconnected(let address):
            update(address) { $0.disconnect() }
            return .oldDeviceUnavailable
        case .headsetForgotten(let address):
            update(address) { headset in
                headset.disconnect()
                headset.isForgotten = true
            }
            return .oldDeviceUnavailable
        case .headsetProfile(let address, let profile, let isUp):
            let life = configuration.transferGuard
            update(address, adding: isUp) { headset in
                headset.setProfile(profile, isUp: isUp)
                if !isUp, headset.link.mode == profile { headset.noteLinkGone(at: now, livedFor: life) }
            }
            return isUp ? .newDeviceAvailable : .oldDeviceUnavailable
        case .adapterPowered(let isPowered):
            isAdapterPowered = isPowered
            if !isPowered {
                for index in headsets.indices { headsets[index].link = .closed }
            }
            return isPowered ? .newDeviceAvailable : .oldDeviceUnavailable
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
            guard started, !calls.isEmpty, obstacle(for: .earpiece, foreground: foregroundCalls) == nil else {
                return nil
            }
            choose(.device(.earpiece), by: .handset, at: now)
            return .userSelection
        case .handsetOnHook:
            guard choice?.origin == .handset else { return nil }
            choice = nil
            return .userSelection
        case .interruptionBegan:
            interruption = .begun
            return .interruptionBegan
        case .interruptionEnded(let resume):
            guard interruption != .none else { return nil }
            // Without a call there is nobody to be kept from the audio.
            interruption = resume || calls.isEmpty ? .none : .notResumed
            return .interruptionEnded
        case .deadlineReached:
            // What was due has been done before any event.
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

    /// Why a selection cannot be honoured now; nil when it can.
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
        choice = DeviceChoice(device: device, origin: origin, sequence: gestures, madeAt: now)
        switch device {
        case .device(let named): instruct(named, at: now)
        case .local: break
        }
    }

    /// An explicit instruction waives settling, penalty and dwell of the headsets that it names (routing policy §5).
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

    private mutating func addCall(_ call: RoutingCall) -> RouteChangeReason? {
        guard !calls.contains(where: { $0.identifier == call.identifier }) else { return nil }
        calls.append(call)
        mediaRestore = nil
        if call.isForeground { isParked = false }
        return .callStarted
    }

    private mutating func answer(_ call: String, via: AnsweredVia?, at now: Instant) -> RouteChangeReason? {
        guard change(call, from: .ringing, to: .active) || change(call, from: .dialing, to: .active) else { return nil }
        holdOthers(than: call)
        isParked = false
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

    private mutating func change(
        _ call: String, from old: RoutingCall.State, to new: RoutingCall.State
    ) -> Bool {
        guard let index = calls.firstIndex(where: { $0.identifier == call && $0.state == old }) else { return false }
        calls[index].state = new
        return true
    }

    private mutating func holdOthers(than call: String) {
        for index in calls.indices where calls[index].identifier != call && calls[index].state == .active {
            calls[index].state = .held
        }
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

    /// Believes the jack when it has been quiet for long enough.
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

    // MARK: Headsets

    /// Changes one headset; an unknown one is added or, by default, ignored.
    mutating func update(_ address: BluetoothAddress, adding: Bool = false, _ change: (inout Headset) -> Void) {
        let index = position(of: address)
        if index == headsets.endIndex || headsets[index].address != address {
            guard adding else { return }
            var headset = Headset(address: address)
            applyConfiguration(to: &headset)
            headsets.insert(headset, at: index)
        }
        change(&headsets[index])
    }

    func headset(_ address: BluetoothAddress) -> Headset? {
        index(of: address).map { headsets[$0] }
    }

    /// Where the headset stands; nil when it is unknown.
    func index(of address: BluetoothAddress) -> Int? {
        let index = position(of: address)
        return index < headsets.endIndex && headsets[index].address == address ? index : nil
    }

    /// Where the headset stands or would stand.
    private func position(of address: BluetoothAddress) -> Int {
        var range = headsets.startIndex..<headsets.endIndex
        while !range.isEmpty {
            let middle = range.lowerBound + range.count / 2
            if headsets[middle].address < address {
                range = middle + 1..<range.upperBound
            } else {
                range = range.lowerBound..<middle
            }
        }
        return range.lowerBound
    }

    /// Notices headsets that became usable or stopped being so, and counts losses (routing policy §4, §8).
    mutating func updateAttachments(because cause: RouteChangeReason, at now: Instant) {
        var isAnyForgotten = false
        for index in headsets.indices {
            isAnyForgotten = isAnyForgotten || headsets[index].isForgotten
            let isUsable = mode(of: headsets[index]) != nil
            if isUsable, headsets[index].attachedAt == nil {
                headsets[index].attachedAt = now
                headsets[index].forgetFailures()
                headsets[index].dwellWaived = false
                settle(index, from: now)
            } else if !isUsable, headsets[index].attachedAt != nil {
                headsets[index].attachedAt = nil
                if pending?.address == headsets[index].address { pending = nil }
                let isLoss =
                    cause == .oldDeviceUnavailable && isAdapterPowered && !calls.isEmpty && !headsets[index].isExcluded
                if isLoss { headsets[index].losses.append(now) }
            }
        }
        if isAnyForgotten { headsets.removeAll(where: \.isForgotten) }
    }

    /// Starts the time that a headset has to be stable for, with all losses in the window included.
    mutating func settle(_ index: Int, from now: Instant) {
        let losses = headsets[index].losses.count(within: configuration.flapWindow, of: now)
        headsets[index].settlesSince = now
        headsets[index].readyAt = now.advanced(by: settlingTime(losses: losses))
    }

    /// How long a headset has to be stable for after so many losses in the window.
    func settlingTime(losses: Int) -> Duration {
        doubled(configuration.settleBluetooth, times: losses, limit: configuration.settleMax)
    }

    func doubled(_ base: Duration, times: Int, limit: Duration) -> Duration {
        guard base > .zero else { return min(base, limit) }
        var duration = base
        for _ in 0..<max(times, 0) {
            if duration >= limit { break }
            duration = duration * 2
        }
        return min(duration, limit)
    }
}

extension Headset {
    mutating func disconnect() {
        hfp = false
        a2dp = false
        link = .closed
    }

    mutating func setProfile(_ profile: LinkMode, isUp: Bool) {
        switch profile {
        case .hfp: hfp = isUp
        case .a2dp: a2dp = isUp
        }
    }
}
