import BluetoothTypes
import Routing

/// The walk over the levels: the first one that gives an eligible device wins (docs/inside/Routing.md, section 5).
struct ReferenceWalk {
    let policy: ReferencePolicy
    /// The calls whose device is looked for.
    let foreground: [ReferencePolicy.Call]
    /// Whether only devices of the board are considered.
    var isLocalOnly = false

    private var configuration: RoutingConfiguration { policy.configuration }

    var route: Route? { jackAfterChoice ?? chosen ?? belowChoice }

    // MARK: Levels

    private var isJackPlugged: Bool { policy.jack != .empty }

    private var jackAfterChoice: Route? {
        guard let choice = policy.choice, let plug = policy.plug, isJackPlugged, configuration.jackGesture != .off,
            plug > choice.order
        else { return nil }
        return local(.wiredHeadset)
    }

    private var chosen: Route? {
        guard let choice = policy.choice else { return nil }
        switch choice.device {
        case .device(.bluetooth): return best(of: policy.ranked(choice.others))
        case .device(let device): return route(to: device)
        case .local:
            let board = ReferenceWalk(policy: policy, foreground: foreground, isLocalOnly: true)
            return policy.fallback.local.flatMap { local($0) } ?? board.belowChoice
        }
    }

    private var belowChoice: Route? {
        latchedJack ?? route(to: policy.preferred) ?? jackInCall ?? route(to: policy.fallback) ?? platform
    }

    private var latchedJack: Route? {
        configuration.jackGesture == .latched && isJackPlugged ? local(.wiredHeadset) : nil
    }

    private var jackInCall: Route? {
        guard configuration.jackGesture == .midCall, policy.plug != nil, isJackPlugged,
            policy.fallback != AudioDevice.none
        else { return nil }
        return local(.wiredHeadset)
    }

    /// The platform's order: the latest attachment, then the devices of the board, then any headset.
    private var platform: Route? {
        let wired = local(.wiredHeadset)
        let headset = best(of: policy.ranked())
        if let wired, let headset {
            let attached = headset.address.flatMap { policy.headsets[$0]?.attachedAt } ?? .zero
            return policy.wiredSince >= attached ? wired : headset
        }
        let isVideo = foreground.contains { $0.hasVideo }
        let board: [LocalDevice] = isVideo ? [.speakerphone, .earpiece] : [.earpiece, .speakerphone]
        return wired ?? headset ?? board.compactMap { local($0) }.first
            ?? best(of: policy.ranked(Set(policy.usableHeadsets)))
    }

    // MARK: Devices

    private func route(to device: AudioDevice) -> Route? {
        switch device {
        case .none: nil
        case .bluetooth: best(of: policy.ranked())
        case .headset(let address): best(of: [address])
        case .speakerphone: local(.speakerphone)
        case .wiredHeadset: local(.wiredHeadset)
        case .earpiece: local(.earpiece)
        }
    }

    private func local(_ local: LocalDevice) -> Route? {
        policy.isAvailable(local) && policy.isSupported(local.kind, by: foreground) ? .local(local) : nil
    }

    private func best(of addresses: [BluetoothAddress]) -> Route? {
        guard !isLocalOnly, policy.isSupported(.bluetooth, by: foreground) else { return nil }
        for address in addresses {
            if let mode = policy.mode(of: address), policy.isEligible(address) { return .headset(address, mode) }
        }
        return nil
    }
}

extension ReferencePolicy {
    /// Whether a headset is considered without being named: watches and loudspeakers only by the explicit order.
    func isOrdinary(_ address: BluetoothAddress) -> Bool {
        headsets[address]?.category == .headset || configuration.headsetOrder.contains(address)
    }

    /// Usable headsets, the best first.
    ///
    /// - Parameter others: watches and loudspeakers that also count.
    func ranked(_ others: Set<BluetoothAddress> = []) -> [BluetoothAddress] {
        func place(_ address: BluetoothAddress) -> Int {
            configuration.headsetOrder.firstIndex(of: address) ?? .max
        }
        func attached(_ address: BluetoothAddress) -> Instant { headsets[address]?.attachedAt ?? .zero }
        let list = usableHeadsets.filter { isOrdinary($0) || others.contains($0) }.sorted { left, right in
            if place(left) != place(right) { return place(left) < place(right) }
            if attached(left) != attached(right) { return attached(left) > attached(right) }
            return left < right
        }
        guard configuration.newHeadset == .stay, mistake != .carrierDoesNotStay, let carrier, list.contains(carrier)
        else { return list }
        let higher = list.filter { place($0) < place(carrier) }
        return higher + [carrier] + list.filter { $0 != carrier && !higher.contains($0) }
    }

    /// Whether a usable headset may be used now (section 5.5).
    func isEligible(_ address: BluetoothAddress) -> Bool {
        guard let headset = headsets[address], !isUnderPenalty(address) else { return false }
        if current?.address == address || pending?.address == address || headset.link.silence != nil { return true }
        if !headset.isAskedFor, count(headset.automaticChanges, within: Self.changeWindow) >= Self.changeLimit {
            return false
        }
        if current == nil, pending == nil, count(headset.losses, within: configuration.flapWindow) == 0 { return true }
        guard headset.readyAt <= now else { return false }
        let isDwelling = currentSince.advanced(by: configuration.minDwell) > now
        return current?.address == nil || !isDwelling || headset.isAskedFor || mistake == .dwellIsIgnored
    }
}

// MARK: Observables

extension ReferencePolicy {
    var available: Set<AudioDevice> {
        let locals = LocalDevice.allCases.filter { isAvailable($0) }.map { AudioDevice($0) }
        return Set(locals + usableHeadsets.map { .headset($0) })
    }

    /// The device that is selected, also without a call.
    var selected: AudioDevice {
        if case .device(let device) = choice?.device { return device }
        if preferred != AudioDevice.none { return preferred }
        return ReferenceWalk(policy: self, foreground: foreground).route?.device ?? AudioDevice.none
    }

    var override: String? {
        switch choice?.device {
        case .local: "local"
        case .device(let device): device.description
        case nil: nil
        }
    }

    var output: AudioOutput {
        switch current {
        case .local(.speakerphone): .speaker
        case .local(.earpiece): .earpiece
        case .local(.wiredHeadset): .jack
        case .headset(let address, .hfp): .sco(address)
        case .headset(let address, .a2dp): .a2dp(address)
        case nil: AudioOutput.none
        }
    }

    var input: AudioInput {
        guard let current, configuration.microphoneEnabled, needsMicrophone else { return AudioInput.none }
        switch current {
        case .local(.speakerphone), .local(.earpiece), .headset(_, .a2dp): return .builtinMic
        case .local(.wiredHeadset): return jack == .headphones ? .builtinMic : .jackMic
        case .headset(let address, .hfp): return .sco(address)
        }
    }
}
