import BluetoothTypes
import Routing

/// How the headsets of a scenario answer requests for their link, in virtual time (routing policy §15, link model).
struct ScenarioLinks {
    private enum State {
        case closed, opening, open, closing
    }

    private struct Headset {
        var model: Scenario.HeadsetModel
        var profilesUp: Set<LinkMode> = []
        var state = State.closed
        var mode: LinkMode?
        var requests = 0
        /// What was scheduled for an earlier state of the link does not happen.
        var generation = 0
    }

    private struct Scheduled {
        let time: Instant
        let sequence: Int
        let generation: Int
        let address: BluetoothAddress
        let event: RoutingEvent
    }

    private var headsets: [BluetoothAddress: Headset] = [:]
    private var isAdapterPowered = true
    private var scheduled: [Scheduled] = []
    private var sequence = 0

    init(_ models: [Scenario.HeadsetModel]) {
        for model in models { headsets[model.address] = Headset(model: model) }
    }

    func knows(_ address: BluetoothAddress) -> Bool { headsets[address] != nil }

    /// The time of the next completion.
    var next: Instant? {
        scheduled.filter(isLive).map(\.time).min()
    }

    private func isLive(_ item: Scheduled) -> Bool {
        headsets[item.address]?.generation == item.generation
    }

    /// Takes out the earliest completion, requests in their order at equal times.
    mutating func takeNext() -> (event: RoutingEvent, time: Instant)? {
        scheduled = scheduled.filter(isLive)
        let first = scheduled.indices.min { left, right in
            (scheduled[left].time, scheduled[left].sequence) < (scheduled[right].time, scheduled[right].sequence)
        }
        guard let first else { return nil }
        let item = scheduled.remove(at: first)
        switch item.event {
        case .linkOpened:
            headsets[item.address]?.state = .open
        case .linkFailed, .linkClosed:
            headsets[item.address]?.state = .closed
        default: break
        }
        return (item.event, item.time)
    }

    private mutating func schedule(_ event: RoutingEvent, of address: BluetoothAddress, at time: Instant) {
        guard let generation = headsets[address]?.generation else { return }
        sequence += 1
        scheduled.append(
            Scheduled(time: time, sequence: sequence, generation: generation, address: address, event: event))
    }

    // MARK: Requests of the policy

    mutating func open(_ address: BluetoothAddress, _ mode: LinkMode, at now: Instant) {
        guard var headset = headsets[address] else { return }
        let outcome = headset.requests < headset.model.script.count ? headset.model.script[headset.requests] : .opens
        headset.requests += 1
        headset.generation += 1
        headset.state = .opening
        headset.mode = mode
        headsets[address] = headset
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

    mutating func close(_ address: BluetoothAddress, at now: Instant) {
        guard let headset = headsets[address] else { return }
        headsets[address]?.generation += 1
        headsets[address]?.state = .closing
        schedule(.linkClosed(address, .requested), of: address, at: now.advanced(by: headset.model.closeTime))
    }

    // MARK: What happens to headsets

    /// Follows an event before the policy is told.
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

    /// The headset opens its link itself.
    ///
    /// - Returns: whether it can: it is connected, and the link is not open.
    mutating func openedByHeadset(_ address: BluetoothAddress, _ mode: LinkMode) -> Bool {
        guard let headset = headsets[address], isAdapterPowered, !headset.profilesUp.isEmpty, headset.state != .open
        else { return false }
        headsets[address]?.generation += 1
        headsets[address]?.state = .open
        headsets[address]?.mode = mode
        return true
    }

    /// The link is closed at once, and nothing that was on its way comes.
    private mutating func vanish(_ address: BluetoothAddress) {
        headsets[address]?.generation += 1
        headsets[address]?.state = .closed
        headsets[address]?.mode = nil
    }
}
