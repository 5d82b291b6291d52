import BluetoothTypes
import ControlLoop
import DBus
import Logging

extension MediaRefusal.Part {
    var register: String {
        switch self {
        case .endpoint: "RegisterEndpoint"
        case .player: "RegisterPlayer"
        }
    }

    var unregister: String {
        switch self {
        case .endpoint: "UnregisterEndpoint"
        case .player: "UnregisterPlayer"
        }
    }
}

// Registration of endpoint and player on each adapter.
extension MediaSource {
    static func controller(_ adapter: String) -> String {
        adapter.split(separator: "/").last.map(String.init) ?? "adapter"
    }

    /// The object path that bluetoothd calls.
    func object(_ key: RegistrationKey) -> String {
        "\(path)/\(Self.controller(key.adapter))/\(key.part.rawValue)\(key.number == 0 ? "" : "\(key.number)")"
    }

    func refreshRegistrations() {
        guard isServing, withdrawal == nil, case .present(let owner) = phase else { return }
        let adapters = mirror.objects.filter { $0.value[BlueZNames.adapter] != nil }
        for key in registrations.keys.sorted() where adapters[key.adapter] == nil {
            if case .pausing(let timer)? = registrations.removeValue(forKey: key) { timer.cancel() }
            withoutDelay.remove(key.adapter)
        }
        for adapter in exported.sorted() where adapters[adapter] == nil { unexport(adapter) }
        for (adapter, interfaces) in adapters.sorted(by: { $0.key < $1.key }) {
            let key = RegistrationKey(adapter: adapter, part: .endpoint)
            switch registrations[key] {
            case nil: register(key, with: owner)
            case .refused(hadMedia: false) where interfaces[BlueZNames.media] != nil: register(key, with: owner)
            case .asked, .registered, .refused, .pausing: break
            }
        }
    }

    /// Registers, or withdraws everything; the state that is wanted when that is done is followed then.
    func followServing() {
        guard !isServing, withdrawal == nil, let owner else { return refreshRegistrations() }
        let keys = registrations.keys.sorted()
        for case .pausing(let timer) in registrations.values { timer.cancel() }
        registrations = [:]
        withoutDelay = []
        for adapter in exported.sorted() { unexport(adapter) }
        // They leave the tree with the endpoints.
        for path in transports.keys.sorted() {
            if mirror.objects[path]?[BlueZNames.mediaTransport] != nil { discarded.insert(path) }
            drop(path, .gone)
        }
        withdrawal = Task { @ControlPlane [weak self] in
            await self?.unregister(keys, with: owner)
            self?.withdrawal = nil
            self?.refreshRegistrations()
        }
    }

    /// Returns when bluetoothd has answered, or after two seconds each.
    func unregister(_ keys: [RegistrationKey], with owner: String) async {
        for key in keys {
            do throws(BusError) {
                _ = try await bus.call(
                    owner, key.adapter, BlueZNames.media, key.part.unregister, [.objectPath(object(key))],
                    timeout: Self.unregisterTimeout)
            } catch {
                // It may not have been registered, and bluetoothd drops it when we leave the bus.
                logger.debug("bluetoothd did not unregister the \(key.part.rawValue) on \(key.adapter): \(error)")
            }
        }
    }

    func unexport(_ adapter: String) {
        exported.remove(adapter)
        for number in 0..<Self.mostEndpoints {
            bus.unexport(path: object(RegistrationKey(adapter: adapter, part: .endpoint, number: number)))
        }
        bus.unexport(path: object(RegistrationKey(adapter: adapter, part: .player)))
    }

    /// Keeps one endpoint more than an adapter has streams: one for the next headset.
    func refreshSpares(_ adapter: String) {
        guard case .present(let owner) = phase,
            case .registered? = registrations[RegistrationKey(adapter: adapter, part: .endpoint)]
        else { return }
        let streams = transports.keys.count { $0.hasPrefix(adapter + "/") }
        for number in 1..<Self.mostEndpoints where number <= streams {
            let key = RegistrationKey(adapter: adapter, part: .endpoint, number: number)
            guard registrations[key] == nil else { continue }
            bus.export([endpointInterface(key)], at: object(key))
            register(key, with: owner)
        }
    }

    private func export(_ adapter: String) {
        guard exported.insert(adapter).inserted else { return }
        let endpoint = RegistrationKey(adapter: adapter, part: .endpoint)
        bus.export([endpointInterface(endpoint)], at: object(endpoint))
        bus.export([playerInterface(adapter)], at: object(RegistrationKey(adapter: adapter, part: .player)))
    }

    private func register(_ key: RegistrationKey, with owner: String) {
        attempts += 1
        let attempt = attempts
        registrations[key] = .asked(attempt: attempt)
        export(key.adapter)
        bus.send(
            owner, key.adapter, BlueZNames.media, key.part.register,
            [.objectPath(object(key)), .vardict(properties(key))], timeout: Self.callTimeout
        ) { [weak self] in self?.answered($0, key, attempt) }
    }

    private func properties(_ key: RegistrationKey) -> [String: Value] {
        switch key.part {
        case .endpoint:
            var properties: [String: Value] = [
                "UUID": .string(Self.uuid.text), "Codec": .byte(Self.codec),
                "Capabilities": .bytes(SBCQuality.capabilities),
            ]
            if !withoutDelay.contains(key.adapter) { properties["DelayReporting"] = true }
            return properties
        case .player: return playerProperties
        }
    }

    private func answered(_ result: Result<[Value], BusError>, _ key: RegistrationKey, _ attempt: Int) {
        // bluetoothd or the adapter may have left meanwhile.
        guard case .asked(attempt)? = registrations[key], case .present(let owner) = phase else { return }
        switch result {
        case .success: registered(key, owner)
        case .failure(let error) where error.hasName(BlueZNames.errorPrefix + "AlreadyExists"):
            // An earlier attempt that timed out here has succeeded: the registration is ours, under this path.
            registered(key, owner)
        case .failure(let error)
        where error.hasName(BlueZNames.errorPrefix + "InvalidArguments") && key.part == .endpoint
            && !withoutDelay.contains(key.adapter):
            // This bluetoothd does not know the property, or cannot support it.
            withoutDelay.insert(key.adapter)
            register(key, with: owner)
        case .failure(let error):
            refused(key, error)
        }
    }

    private func registered(_ key: RegistrationKey, _ owner: String) {
        registrations[key] = .registered
        let controller = Self.controller(key.adapter)
        switch key.part {
        case .endpoint where key.number > 0: logger.debug("A2DP endpoint \(key.number) is registered on \(controller)")
        case .endpoint:
            logger.info("bluetoothd has registered the A2DP source on \(controller)")
            // The player is useless without the endpoint.
            register(RegistrationKey(adapter: key.adapter, part: .player), with: owner)
            emit(.registered)
            refreshSpares(key.adapter)
        case .player:
            logger.info("bluetoothd has registered the player for headsets' buttons on \(controller)")
            emit(.playerRegistered)
        }
    }

    private func refused(_ key: RegistrationKey, _ error: BusError) {
        guard key.number == 0 else {
            registrations[key] = nil
            logger.notice(
                "bluetoothd accepts no further A2DP endpoint: no more headsets can have A2DP at once (\(error))")
            return
        }
        let refusal = MediaRefusal(controller: Self.controller(key.adapter), part: key.part, error: error)
        if case .notOffered = refusal.cause {
            registrations[key] = .refused(hadMedia: mirror.objects[key.adapter]?[BlueZNames.media] != nil)
        } else {
            pause(key)
        }
        logger.warning("\(refusal)")
        emit(.refused(refusal))
    }

    private func pause(_ key: RegistrationKey) {
        registrations[key] = .pausing(
            ControlLoop.shared.schedule(after: retryInterval) { [weak self] in
                guard let self, case .pausing? = registrations[key], case .present(let owner) = phase else { return }
                register(key, with: owner)
            })
    }

    /// Handles a registration that bluetoothd has dropped: bluetoothd is about to leave, or somebody made it do so. In the
    /// first case its name goes away next; in the second the registration is retried after a pause.
    func released(_ key: RegistrationKey) {
        guard case .registered? = registrations[key] else { return }
        logger.info("bluetoothd has released the \(key.part.rawValue) on \(Self.controller(key.adapter))")
        pause(key)
    }
}
