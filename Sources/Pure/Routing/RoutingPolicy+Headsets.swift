import BluetoothTypes

/// Reports about headsets and the adapter, and the time since which each headset is usable (docs/inside/Routing.md §3, §4, §8).
extension RoutingPolicy {
    // MARK: Reports

    mutating func describe(
        _ address: BluetoothAddress, _ category: ClassOfDevice.Category, inbandRing: Bool
    ) -> RouteChangeReason {
        update(address, adding: true) { headset in
            headset.category = category
            headset.supportsInbandRing = inbandRing
        }
        return .newDeviceAvailable
    }

    mutating func notePreference(of address: BluetoothAddress, takesCalls: Bool) -> RouteChangeReason {
        update(address) { $0.declinesCalls = !takesCalls }
        return .newDeviceAvailable
    }

    /// Handles a headset whose link is open only while somebody talks. What its wearer does by the talk key counts towards no
    /// limit.
    mutating func noteRest(of address: BluetoothAddress, _ isResting: Bool) -> RouteChangeReason? {
        guard let index = index(of: address), headsets[index].isResting != isResting else { return nil }
        headsets[index].isResting = isResting
        guard isResting else {
            headsets[index].limitWaived = true
            headsets[index].dwellWaived = true
            return .newDeviceAvailable
        }
        if pending?.address == address { pending = nil }
        // Its link was opened to talk, not to move the call.
        if choice?.origin == .headsetTransfer, choice?.device == .device(.headset(address)) { choice = nil }
        return .oldDeviceUnavailable
    }

    mutating func connect(_ address: BluetoothAddress, _ profiles: [LinkMode]) -> RouteChangeReason {
        update(address, adding: true) { headset in
            for profile in profiles { headset.setProfile(profile, isUp: true) }
        }
        return .newDeviceAvailable
    }

    mutating func disconnect(_ address: BluetoothAddress) -> RouteChangeReason {
        update(address) { $0.disconnect() }
        return .oldDeviceUnavailable
    }

    mutating func forget(_ address: BluetoothAddress) -> RouteChangeReason {
        update(address) { headset in
            headset.disconnect()
            headset.isForgotten = true
        }
        return .oldDeviceUnavailable
    }

    mutating func noteProfile(
        _ profile: LinkMode, isUp: Bool, of address: BluetoothAddress, at now: Instant
    ) -> RouteChangeReason {
        let life = configuration.transferGuard
        update(address, adding: isUp) { headset in
            headset.setProfile(profile, isUp: isUp)
            if !isUp, headset.link.mode == profile { headset.noteLinkGone(at: now, livedFor: life) }
        }
        return isUp ? .newDeviceAvailable : .oldDeviceUnavailable
    }

    mutating func noteAdapter(isPowered: Bool) -> RouteChangeReason {
        isAdapterPowered = isPowered
        if !isPowered {
            for index in headsets.indices { headsets[index].link = .closed }
        }
        return isPowered ? .newDeviceAvailable : .oldDeviceUnavailable
    }

    // MARK: Known headsets

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

    /// Index of the headset; nil when it is unknown.
    func index(of address: BluetoothAddress) -> Int? {
        let index = position(of: address)
        return index < headsets.endIndex && headsets[index].address == address ? index : nil
    }

    /// Index where the headset is or would be inserted.
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

    // MARK: Attachment

    /// Detects headsets that became usable or unusable, and counts losses (docs/inside/Routing.md §4, §8).
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

    /// Starts a headset's settling time, including all losses in the window.
    mutating func settle(_ index: Int, from now: Instant) {
        let losses = headsets[index].losses.count(within: configuration.flapWindow, of: now)
        headsets[index].settlesSince = now
        headsets[index].readyAt = now.advanced(by: settlingTime(losses: losses))
    }

    /// Settling time of a headset after this many losses in the window.
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
        isResting = false
    }

    mutating func setProfile(_ profile: LinkMode, isUp: Bool) {
        switch profile {
        case .hfp:
            hfp = isUp
            if !isUp { isResting = false }
        case .a2dp: a2dp = isUp
        }
    }
}
