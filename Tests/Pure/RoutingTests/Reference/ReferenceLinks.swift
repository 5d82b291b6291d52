import BTCallSimulator
import BluetoothTypes
import Routing

/// How the headsets of a course answer requests for their link (docs/inside/Routing.md, section 15, link model).
struct ReferenceLinks {
    private enum State { case closed, opening, open, closing }

    private struct Headset {
        let model: Scenario.HeadsetModel
        var profiles: Set<LinkMode> = []
        var state = State.closed
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
    /// Ordered by time.
    private var completions: [Completion] = []

    init(_ models: [Scenario.HeadsetModel]) {
        for model in models { headsets[model.address] = Headset(model: model) }
    }

    func knows(_ address: BluetoothAddress) -> Bool { headsets[address] != nil }

    var next: Instant? { completions.first?.time }

    mutating func takeNext() -> RoutingEvent? {
        guard !completions.isEmpty else { return nil }
        let completion = completions.removeFirst()
        switch completion.event {
        case .linkOpened: headsets[completion.address]?.state = .open
        default: headsets[completion.address]?.state = .closed
        }
        return completion.event
    }

    private mutating func schedule(_ event: RoutingEvent, _ address: BluetoothAddress, at time: Instant) {
        completions.append(Completion(time: time, address: address, event: event))
        // Stable: at equal times in the order of the requests.
        completions.sort { $0.time < $1.time }
    }

    private mutating func vanish(_ address: BluetoothAddress) {
        completions.removeAll { $0.address == address }
        headsets[address]?.state = .closed
    }

    // MARK: Requests

    mutating func open(_ address: BluetoothAddress, _ mode: LinkMode, at now: Instant) {
        guard let headset = headsets[address] else { return }
        let script = headset.model.script
        let outcome = headset.requests < script.count ? script[headset.requests] : .opens
        headsets[address]?.requests += 1
        headsets[address]?.state = .opening
        headsets[address]?.mode = mode
        completions.removeAll { $0.address == address }
        let answer = now.advanced(by: headset.model.openTime)
        switch outcome {
        case .opens: schedule(.linkOpened(address), address, at: answer)
        case .opensFor(let life):
            schedule(.linkOpened(address), address, at: answer)
            schedule(.linkClosed(address, .remote), address, at: answer.advanced(by: life))
        case .refuses: schedule(.linkFailed(address, .refused), address, at: answer)
        case .hangs: break
        }
    }

    mutating func close(_ address: BluetoothAddress, at now: Instant) {
        guard let headset = headsets[address] else { return }
        headsets[address]?.state = .closing
        completions.removeAll { $0.address == address }
        schedule(.linkClosed(address, .requested), address, at: now.advanced(by: headset.model.closeTime))
    }

    // MARK: Events

    /// Follows an event.
    ///
    /// - Returns: whether it can happen at all.
    mutating func follow(_ event: RoutingEvent) -> Bool {
        switch event {
        case .headsetConnected(let address, let profiles): headsets[address]?.profiles.formUnion(profiles)
        case .headsetDisconnected(let address):
            headsets[address]?.profiles = []
            vanish(address)
        case .headsetProfile(let address, let profile, isUp: true): headsets[address]?.profiles.insert(profile)
        case .headsetProfile(let address, let profile, isUp: false):
            headsets[address]?.profiles.remove(profile)
            if headsets[address]?.mode == profile { vanish(address) }
        case .adapterPowered(let isPowered):
            isAdapterPowered = isPowered
            if !isPowered {
                for address in headsets.keys.sorted() { vanish(address) }
            }
        case .linkClosed(let address, _): vanish(address)
        case .linkOpenedByHeadset(let address, let mode):
            guard let headset = headsets[address], isAdapterPowered, !headset.profiles.isEmpty, headset.state != .open
            else { return false }
            completions.removeAll { $0.address == address }
            headsets[address]?.state = .open
            headsets[address]?.mode = mode
        default: break
        }
        return true
    }
}
