import BTCallAPI
import BluetoothTypes
import ControlLoop
import DBus

/// Answers of the bus and of the programs on it.
struct DoctorBus: Sendable {
    /// One name on the bus.
    struct Peer: Equatable, Sendable {
        /// Well-known or unique name.
        var name: String
        /// Nil when the bus does not report it.
        var process: Int?
    }

    /// Object path, then interface, then property.
    typealias Objects = [String: [String: [String: Value]]]

    /// A program's answer.
    enum Answer: Equatable, Sendable {
        /// Nobody owns the name.
        case absent
        case refused(BusError)
        case objects(Objects)

        var objects: Objects {
            guard case .objects(let objects) = self else { return [:] }
            return objects
        }
    }

    /// The bus as given to `--bus`.
    var name = "system"
    /// Reason why the bus cannot be reached; nil when it can.
    var failure: String?
    var peers: [Peer] = []
    /// Names that the bus can start programs for.
    var activatable: Set<String> = []
    var bluez = Answer.absent
    /// Includes the properties of `Manager1` at `/org/btcall`.
    var btcall = Answer.absent
    /// Properties of `Video1` at `/org/btcall/video`.
    var video = Answer.absent

    /// Queries the bus, bluetoothd, btcalld and btcall-video, and starts none of them.
    @ControlPlane
    static func read(_ address: BusAddress) async -> DoctorBus {
        var answers = DoctorBus(name: "\(address)")
        do throws(BusError) {
            let connection = try BusConnection(address)
            defer { connection.close() }
            let names = try await strings("ListNames", on: connection)
            answers.activatable = Set(try await strings("ListActivatableNames", on: connection))
            for name in names.sorted() where name != connection.uniqueName {
                // A program that has left meanwhile has no process.
                let process = try? await connection.processID(of: name)
                answers.peers.append(Peer(name: name, process: process.map { Int($0) }))
            }
            if names.contains("org.bluez") { answers.bluez = await objects(of: "org.bluez", at: "/", on: connection) }
            if names.contains(BTCallName.bus) { answers.btcall = await bridge(on: connection) }
            if names.contains(BTCallName.videoBus) { answers.video = await video(on: connection) }
        } catch {
            answers.failure = error.description
        }
        return answers
    }

    private static let answerTimeout = Duration.seconds(5)

    @ControlPlane
    private static func strings(_ member: String, on connection: BusConnection) async throws(BusError) -> [String] {
        let bus = "org.freedesktop.DBus"
        let answer = try await connection.call(bus, "/org/freedesktop/DBus", bus, member, timeout: answerTimeout)
        return answer.first?.stringsValue ?? []
    }

    @ControlPlane
    private static func objects(of name: String, at path: String, on connection: BusConnection) async -> Answer {
        do throws(BusError) {
            let answer = try await connection.call(
                name, path, "org.freedesktop.DBus.ObjectManager", "GetManagedObjects", timeout: answerTimeout)
            var objects: Objects = [:]
            for object in answer.first?.entries ?? [] {
                guard let path = object.key.stringValue else { continue }
                for interface in object.value.entries ?? [] {
                    guard let interfaceName = interface.key.stringValue else { continue }
                    objects[path, default: [:]][interfaceName] = interface.value.vardictValue ?? [:]
                }
            }
            return .objects(objects)
        } catch {
            return .refused(error)
        }
    }

    @ControlPlane
    private static func bridge(on connection: BusConnection) async -> Answer {
        let path = "/org/btcall"
        let answer = await objects(of: BTCallName.bus, at: path, on: connection)
        guard case .objects(var objects) = answer else { return answer }
        do throws(BusError) {
            objects[path, default: [:]][BTCallName.Interface.manager] = try await allProperties(
                BTCallName.Interface.manager, of: BTCallName.bus, at: path, on: connection)
            return .objects(objects)
        } catch {
            return .refused(error)
        }
    }

    @ControlPlane
    private static func video(on connection: BusConnection) async -> Answer {
        let interface = BTCallName.Interface.video
        do throws(BusError) {
            let properties = try await allProperties(
                interface, of: BTCallName.videoBus, at: BTCallPath.video, on: connection)
            return .objects([BTCallPath.video: [interface: properties]])
        } catch {
            return .refused(error)
        }
    }

    @ControlPlane
    private static func allProperties(
        _ interface: String, of name: String, at path: String, on connection: BusConnection
    ) async throws(BusError) -> [String: Value] {
        let answer = try await connection.call(
            name, path, "org.freedesktop.DBus.Properties", "GetAll", [.string(interface)], timeout: answerTimeout)
        return answer.first?.vardictValue ?? [:]
    }
}

extension DoctorSystem {
    /// An adapter or device object of BlueZ.
    struct BlueZObject: Sendable {
        let path: String
        let properties: [String: Value]

        func flag(_ name: String) -> Bool? { properties[name]?.boolValue }
        func string(_ name: String) -> String? { properties[name]?.stringValue }
        var uuids: [String] { (properties["UUIDs"]?.stringsValue ?? []).map { $0.lowercased() } }
        var address: String { string("Address") ?? path }
        /// Its address, and the name given by its owner.
        var title: String {
            guard let name = string("Alias"), !name.isEmpty else { return address }
            return "\(address) (\(name))"
        }
        /// For example `hci0`.
        var controller: String { path.split(separator: "/").last.map { String($0) } ?? path }
    }

    var adapters: [BlueZObject] { objects("org.bluez.Adapter1") }
    /// Paired devices that may be headsets.
    var pairedHeadsets: [BlueZObject] {
        objects("org.bluez.Device1").filter { $0.flag("Paired") == true && $0.isAudioDevice }
    }

    private func objects(_ interface: String) -> [BlueZObject] {
        bus.bluez.objects.sorted { $0.key < $1.key }.compactMap { path, interfaces in
            interfaces[interface].map { BlueZObject(path: path, properties: $0) }
        }
    }

    /// btcalld's description of itself; nil when it does not run or does not answer.
    var manager: ManagerDescription? {
        guard let properties = bus.btcall.objects["/org/btcall"]?[BTCallName.Interface.manager] else { return nil }
        // A description that cannot be decoded counts as none.
        return try? ManagerDescription(Fields(properties, of: BTCallName.Interface.manager))
    }

    /// btcalld's connected headsets by address.
    var bridgeHeadsets: [String: HeadsetDescription] {
        var headsets: [String: HeadsetDescription] = [:]
        for interfaces in bus.btcall.objects.values {
            guard let properties = interfaces[BTCallName.Interface.headset],
                let headset = try? HeadsetDescription(Fields(properties, of: BTCallName.Interface.headset)),
                headset.isConnected
            else { continue }
            headsets[headset.address.description] = headset
        }
        return headsets
    }
}

extension DoctorSystem.BlueZObject {
    private static func short(_ number: String) -> String { "0000\(number)-0000-1000-8000-00805f9b34fb" }
    /// UUID of this machine's side: Hands-Free and Headset Audio Gateway.
    static let handsFreeGateway = short("111f")
    static let headsetGateway = short("1112")
    /// UUID of a headset's side.
    static let handsFree = short("111e")
    static let headset = short("1108")
    private static let audioSink = short("110b")
    /// Audio Stream Control, Published Audio Capabilities, Common Audio: the services of LE Audio.
    private static let lowEnergyAudio = [short("184e"), short("1850"), short("1853")]

    var hasVoiceProfile: Bool { uuids.contains(Self.handsFree) || uuids.contains(Self.headset) }
    var hasLowEnergyAudio: Bool { uuids.contains { Self.lowEnergyAudio.contains($0) } }
    var isAudioDevice: Bool {
        let majorClass = (properties["Class"]?.uint32Value ?? 0) >> 8 & 0x1F
        return hasVoiceProfile || uuids.contains(Self.audioSink) || hasLowEnergyAudio || majorClass == 4
            || string("Icon")?.hasPrefix("audio-") == true
    }
}
