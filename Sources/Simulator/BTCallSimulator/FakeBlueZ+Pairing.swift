package import BluetoothTypes
package import ControlLoop
package import DBus

/// Behaviour of a discoverable device when a program pairs with it.
package enum PairingManner: Equatable, Sendable {
    /// Secure Simple Pairing without a question.
    case willing
    /// It requires this PIN.
    case pin(String)
    /// `Pair` fails with this error of bluetoothd.
    case fails(String)
}

/// Searching adapters, found devices, agents, bonds.
@ControlPlane
package final class FakePairing {
    struct Stranger {
        let adapter: String
        let rssi: Int16
        let name: String
        let classOfDevice: ClassOfDevice
        let services: [ServiceUUID]
    }

    struct Agent: Equatable {
        let owner: String
        let path: String
        let capability: String
    }

    /// Behaviour of unpaired devices; `willing` by default.
    package var manners: [BluetoothAddress: PairingManner] = [:]
    /// Called before `Pair` does anything.
    package var onPair: (@ControlPlane (BluetoothAddress) async -> Void)?
    /// Error for searches; nil when they succeed.
    package var discoveryError: BusError?
    /// Number of searches, and of calls of `Pair` by address.
    package internal(set) var discoveries = 0
    package internal(set) var pairCalls: [BluetoothAddress] = []
    var strangers: [BluetoothAddress: Stranger] = [:]
    /// The last one is the default agent.
    var agents: [Agent] = []
    /// Programs that search, by adapter.
    var searching: [String: String] = [:]
}

extension FakeBlueZ {
    /// Capability of the default agent; nil when no program has one.
    package var agentCapability: String? { pairing.agents.last?.capability }

    package func isDiscovering(adapter: String = "/org/bluez/hci0") -> Bool { pairing.searching[adapter] != nil }

    /// Adds a device in pairing mode: the next search finds it, and a running one finds it now.
    package func addStranger(
        _ address: BluetoothAddress, name: String, rssi: Int16 = -50,
        classOfDevice: ClassOfDevice = ClassOfDevice(bits: 0x24_0404),
        services: [ServiceUUID] = [.handsFree, .audioSink], adapter: String = "/org/bluez/hci0"
    ) {
        pairing.strangers[address] = FakePairing.Stranger(
            adapter: adapter, rssi: rssi, name: name, classOfDevice: classOfDevice, services: services)
        if isDiscovering(adapter: adapter) { find(address) }
    }

    /// Pairs from the device's side, as many do when they are switched on for the first time.
    ///
    /// - Returns: whether pairing was allowed.
    package func beginPairing(_ address: BluetoothAddress) async -> Bool {
        if devicePath(address) == nil { find(address) }
        guard let path = devicePath(address) else { return false }
        setConnected(true, address)
        var member = "RequestAuthorization"
        var pin: String?
        if case .pin(let wanted)? = pairing.manners[address] { (member, pin) = ("RequestPinCode", wanted) }
        guard let answer = try? await askAgent(member, [.objectPath(path)]) else { return false }
        guard pin == nil || answer.first?.stringValue == pin else { return false }
        set("Paired", .bool(true), of: FakeBlueZNames.device, at: path)
        return true
    }

    /// Asks for authorisation of an untrusted device's service.
    package func authorize(_ service: ServiceUUID, of address: BluetoothAddress) async -> Bool {
        guard let path = devicePath(address) else { return false }
        return (try? await askAgent("AuthorizeService", [.objectPath(path), .string(service.text)])) != nil
    }

    /// Asks the default agent, as bluetoothd does.
    package func askAgent(_ member: String, _ arguments: [Value]) async throws(BusError) -> [Value] {
        guard let bus, let agent = pairing.agents.last else { throw bluezError("Rejected", "no agent") }
        return try await bus.call(agent.owner, agent.path, FakeBlueZNames.agent, member, arguments)
    }

    func forgetPairing() {
        pairing.agents = []
        for adapter in pairing.searching.keys.sorted() { endDiscovery(adapter) }
    }

    func forgetPairing(of owner: String) {
        pairing.agents.removeAll { $0.owner == owner }
        for (adapter, program) in pairing.searching where program == owner { endDiscovery(adapter) }
    }

    private func find(_ address: BluetoothAddress) {
        guard let stranger = pairing.strangers[address] else { return }
        let path = devicePath(address)
        let isPaired = path.flatMap { objects[$0]?[FakeBlueZNames.device]?["Paired"]?.boolValue } ?? false
        guard !isPaired else { return }
        addHeadset(
            address, name: stranger.name, classOfDevice: stranger.classOfDevice, services: stranger.services,
            adapter: stranger.adapter,
            properties: ["Paired": false, "Trusted": false, "ServicesResolved": false, "RSSI": .int16(stranger.rssi)])
    }

    /// Keeps devices for a while, without a signal strength.
    private func endDiscovery(_ adapter: String) {
        guard pairing.searching.removeValue(forKey: adapter) != nil else { return }
        set("Discovering", .bool(false), of: FakeBlueZNames.adapter, at: adapter)
        for path in objects.keys.sorted() where path.hasPrefix(adapter + "/") {
            guard objects[path]?[FakeBlueZNames.device]?.removeValue(forKey: "RSSI") != nil else { continue }
            export(path, [FakeBlueZNames.device])
        }
    }

    // MARK: Methods

    func agentManagerInterface() -> ExportedInterface {
        ExportedInterface(
            FakeBlueZNames.agentManager,
            methods: [
                .init("RegisterAgent", in: [("agent", "o"), ("capability", "s")]) { [weak self] call throws(BusError) in
                    guard let self else { return [] }
                    let path = call.arguments.first?.stringValue ?? ""
                    guard !pairing.agents.contains(where: { $0.owner == call.sender && $0.path == path }) else {
                        throw bluezError("AlreadyExists", "Already Exists")
                    }
                    let capability = call.arguments.last?.stringValue ?? ""
                    pairing.agents.insert(.init(owner: call.sender, path: path, capability: capability), at: 0)
                    watch(call.sender)
                    return []
                },
                .init("RequestDefaultAgent", in: [("agent", "o")]) { [weak self] call throws(BusError) in
                    guard let self else { return [] }
                    let path = call.arguments.first?.stringValue
                    guard let index = pairing.agents.firstIndex(where: { $0.owner == call.sender && $0.path == path })
                    else { throw bluezError("DoesNotExist", "Does Not Exist") }
                    pairing.agents.append(pairing.agents.remove(at: index))
                    return []
                },
                .init("UnregisterAgent", in: [("agent", "o")]) { [weak self] call throws(BusError) in
                    guard let self else { return [] }
                    let path = call.arguments.first?.stringValue
                    guard let index = pairing.agents.firstIndex(where: { $0.owner == call.sender && $0.path == path })
                    else { throw bluezError("DoesNotExist", "Does Not Exist") }
                    pairing.agents.remove(at: index)
                    return []
                },
            ])
    }

    func discoveryMethods(_ path: String) -> [ExportedInterface.Method] {
        [
            .init("SetDiscoveryFilter", in: [("filter", "a{sv}")]) { _ in [] },
            .init("StartDiscovery") { [weak self] call throws(BusError) in
                guard let self else { return [] }
                if let error = pairing.discoveryError { throw error }
                guard objects[path]?[FakeBlueZNames.adapter]?["Powered"]?.boolValue == true else {
                    throw bluezError("NotReady", "Resource Not Ready")
                }
                guard pairing.searching[path] == nil else { throw bluezError("InProgress", "In Progress") }
                pairing.discoveries += 1
                pairing.searching[path] = call.sender
                watch(call.sender)
                set("Discovering", .bool(true), of: FakeBlueZNames.adapter, at: path)
                for (address, stranger) in pairing.strangers.sorted(by: { $0.key < $1.key })
                where stranger.adapter == path {
                    find(address)
                }
                return []
            },
            .init("StopDiscovery") { [weak self] call throws(BusError) in
                guard let self else { return [] }
                guard pairing.searching[path] == call.sender else {
                    throw bluezError("Failed", "No discovery started")
                }
                endDiscovery(path)
                return []
            },
        ]
    }

    func pairingMethods(_ path: String) -> [ExportedInterface.Method] {
        [
            .init("Pair") { [weak self] _ async throws(BusError) in
                try await self?.pair(path)
                return []
            },
            .init("CancelPairing") { _ in [] },
        ]
    }

    private func pair(_ path: String) async throws(BusError) {
        guard let address = deviceAddress(of: path) else { throw bluezError("DoesNotExist", "Does Not Exist") }
        pairing.pairCalls.append(address)
        await pairing.onPair?(address)
        guard objects[path]?[FakeBlueZNames.device]?["Paired"]?.boolValue != true else {
            throw bluezError("AlreadyExists", "Already Exists")
        }
        switch pairing.manners[address] ?? .willing {
        case .willing: break
        case .fails(let name): throw bluezError(name, name)
        case .pin(let pin):
            let answer: [Value]
            do throws(BusError) {
                answer = try await askAgent("RequestPinCode", [.objectPath(path)])
            } catch {
                throw bluezError("AuthenticationRejected", "Authentication Rejected")
            }
            guard answer.first?.stringValue == pin else {
                throw bluezError("AuthenticationFailed", "Authentication Failed")
            }
        }
        set("Paired", .bool(true), of: FakeBlueZNames.device, at: path)
        set("ServicesResolved", .bool(true), of: FakeBlueZNames.device, at: path)
    }
}
