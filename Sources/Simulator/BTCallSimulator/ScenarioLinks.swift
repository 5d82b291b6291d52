import BluetoothTypes
import Routing

/// Answers of a scenario's headsets to requests for their link, in virtual time (docs/inside/Routing.md §15).
struct ScenarioLinks {
    private enum State {
        case closed, opening, open, closing
    }

    private struct Headset {
        var model: Scenario.HeadsetModel
        var profilesUp: Set<LinkMode> = []
        var state = State.closed
        /// Mode of the link until it is closed.
        var mode: LinkMode?
        var requests = 0
    }

    private struct Completion {
        let time: Instant
        let address: BluetoothAddress
        let event: RoutingEvent
    }

    private var headsets: [BluetoothAddress: Headset] = [:]
    private var isAdapterPowered = true
    /// Ordered by time, at equal times by request.
    private var completions: [Completion] = []

    init(_ models: [Scenario.HeadsetModel]) {
        for model in models { headsets[model.address] = Headset(model: model) }
    }

    func knows(_ address: BluetoothAddress) -> Bool { headsets[address] != nil }

    /// Time of the next completion; nil when none is pending.
    var next: Instant? { completions.first?.time }

    /// Removes the earliest completion, by order of request at equal times.
    mutating func removeNext() -> (event: RoutingEvent, time: Instant)? {
        guard !completions.isEmpty else { return nil }
        let completion = completions.removeFirst()
        switch completion.event {
        case .linkOpened: headsets[completion.address]?.state = .open
        case .linkFailed, .linkClosed: close(completion.address)
        default: break
        }
        return (completion.event, completion.time)
    }

    private mutating func schedule(_ event: RoutingEvent, of address: BluetoothAddress, at time: Instant) {
        let place = completions.firstIndex { $0.time > time } ?? completions.endIndex
        completions.insert(Completion(time: time, address: address, event: event), at: place)
    }

    private mutating func close(_ address: BluetoothAddress) {
        headsets[address]?.state = .closed
        headsets[address]?.mode = nil
    }

    /// Cancels pending completions.
    private mutating func forget(_ address: BluetoothAddress) {
        completions.removeAll { $0.address == address }
    }

    // MARK: Requests of the policy

    /// Uses the next word of the headset's script, even if the request is dropped later.
    mutating func open(_ address: BluetoothAddress, _ mode: LinkMode, at now: Instant) {
        guard var headset = headsets[address] else { return }
        let outcome = headset.requests < headset.model.script.count ? headset.model.script[headset.requests] : .opens
        headset.requests += 1
        headset.state = .opening
        headset.mode = mode
        headsets[address] = headset
        forget(address)
        let answer = now.advanced(by: headset.model.openTime)
        switch outcome {
        case .opens:
            schedule(.linkOpened(address), of: address, at: answer)
        case .opensFor(let life):
            schedule(.linkOpened(address), of: address, at: answer)
            schedule(.linkClosed(address, .remote), of: address, at: answer.advanced(by: life))
        case .refuses:
            schedule(.linkFailed(address, .refused), of: address, at: answer)
        case .hangs: break
        }
    }

    /// Closes the link, or cancels its set-up: either takes the headset's time.
    mutating func close(_ address: BluetoothAddress, at now: Instant) {
        guard let headset = headsets[address] else { return }
        headsets[address]?.state = .closing
        forget(address)
        schedule(.linkClosed(address, .requested), of: address, at: now.advanced(by: headset.model.closeTime))
    }

    // MARK: Events of headsets

    /// Follows an event before it reaches the policy.
    mutating func note(_ event: RoutingEvent) {
        switch event {
        case .headsetConnected(let address, let profiles):
            headsets[address]?.profilesUp.formUnion(profiles)
        case .headsetDisconnected(let address):
            headsets[address]?.profilesUp = []
            vanish(address)
        case .headsetProfile(let address, let profile, let isUp):
            if isUp {
                headsets[address]?.profilesUp.insert(profile)
            } else {
                headsets[address]?.profilesUp.remove(profile)
                if headsets[address]?.mode == profile { vanish(address) }
            }
        case .adapterPowered(let isPowered):
            isAdapterPowered = isPowered
            if !isPowered {
                for address in headsets.keys { vanish(address) }
            }
        case .linkClosed(let address, _):
            vanish(address)
        default: break
        }
    }

    /// Opens the link from the headset's side.
    ///
    /// - Returns: whether this is possible: the headset is connected, and the link is not open.
    mutating func openedByHeadset(_ address: BluetoothAddress, _ mode: LinkMode) -> Bool {
        guard let headset = headsets[address], isAdapterPowered, !headset.profilesUp.isEmpty, headset.state != .open
        else { return false }
        forget(address)
        headsets[address]?.state = .open
        headsets[address]?.mode = mode
        return true
    }

    /// Closes the link at once, and cancels pending completions.
    private mutating func vanish(_ address: BluetoothAddress) {
        forget(address)
        close(address)
    }
}
