import BTCall
import BTCallAPI
import BTCallDaemon
import CallControl
import ControlLoop
import DBus
import TestSupport
import Testing

extension DaemonTests {
    @Suite @ControlPlane struct DictionaryTests {
        /// The arguments of a method call: the given dictionary, and valid values for all others.
        private static func arguments(_ taken: DictionaryArgument, _ dictionary: [String: Value]) throws -> [Value] {
            let method = try #require(try InterfaceFile(taken.interface).methods[taken.member])
            var types = Substring(method).prefix { $0 != " " }
            var arguments: [Value] = []
            while let type = types.first {
                if types.hasPrefix("a{sv}") {
                    arguments.append(.vardict(dictionary))
                    types = types.dropFirst(5)
                    continue
                }
                switch (type, taken.member) {
                case ("s", "AcquireSelection"): arguments.append("earpiece")
                case ("s", "Update"): arguments.append("active")
                case ("s", _): arguments.append("1")
                case ("u", _): arguments.append(.uint32(10))
                case ("b", _): arguments.append(true)
                default: arguments.append(.objectPath("/org/btcall/test"))
                }
                types = types.dropFirst()
            }
            return arguments
        }

        private static func path(_ taken: DictionaryArgument, call: String) throws -> String {
            switch taken.interface {
            case BTCallName.Interface.call: call
            case BTCallName.Interface.calls: BTCallPath.calls
            case BTCallName.Interface.audio: BTCallPath.audio
            case BTCallName.Interface.router: BTCallPath.router
            case BTCallName.Interface.session: BTCallPath.session
            case BTCallName.Interface.manager, BTCallName.Interface.pairing: BTCallPath.manager
            default: try #require(nil, "\(taken.interface) has no path here")
            }
        }

        /// All objects with their properties, except the audio counters, which keep changing.
        private static func objects(_ box: Box) async throws -> [String: [String: Value]] {
            let reply = try await box.client.call(
                "org.btcall", BTCallPath.manager, "org.freedesktop.DBus.ObjectManager", "GetManagedObjects")
            var all: [String: [String: Value]] = [:]
            for object in try #require(reply.first?.entries) {
                for (interface, properties) in try #require(object.value.vardictValue) {
                    guard interface.hasPrefix("org.btcall."), interface != BTCallName.Interface.audio else { continue }
                    var values = properties.vardictValue ?? [:]
                    for name in values.keys where name.hasPrefix("Quality") || name == "Link" { values[name] = nil }
                    all["\(object.key.stringValue ?? "") \(interface)"] = values
                }
            }
            return all
        }

        private static func refusal(
            _ box: Box, _ taken: DictionaryArgument, _ call: String, _ dictionary: [String: Value]
        ) async throws -> BusError? {
            do throws(BusError) {
                let arguments = try? Self.arguments(taken, dictionary)
                let path = try? Self.path(taken, call: call)
                _ = try await box.client.call(
                    "org.btcall", path ?? "/", taken.interface, taken.member, arguments ?? [])
                return nil
            } catch {
                return error
            }
        }

        @Test func `Every method refuses unknown entries and wrong types, and changes nothing`() async throws {
            try await Box.run { box in
                try await box.prefer(.earpiece)
                let registration = try await box.register()
                _ = try await box.startCall(registration)
                try await box.route(.earpiece)
                try await eventually("the application has the audio") { box.telephone.requests.count == 1 }
                let call = try #require(box.daemon.calls.calls.first?.path)
                var before = try await Self.objects(box)
                try await eventually("the call has settled") {
                    let earlier = before
                    before = try await Self.objects(box)
                    return before == earlier
                }
                #expect(before.count >= 4)
                for taken in DictionaryArgument.all where taken.interface != BTCallName.Interface.video {
                    let name = "\(taken.interface).\(taken.member)"
                    let unknown = try await Self.refusal(box, taken, call, ["nonsense": .uint32(1)])
                    #expect(unknown?.name == "org.btcall.Error.InvalidArgument", "\(name)")
                    let message = unknown?.message ?? ""
                    #expect(message.contains(": \"nonsense\"; accepted: "), "\(name): \(message)")
                    for entry in taken.entries {
                        #expect(message.contains(entry.name), "\(name): \(message)")
                        let wrong: Value = entry.accepts("text") ? .uint32(1) : "text"
                        let error = try await Self.refusal(box, taken, call, [entry.name: wrong])
                        #expect(error?.name == "org.btcall.Error.InvalidArgument", "\(name) \(entry.name)")
                        let right = "\(entry.name) in the \(taken.argument) of \(taken.member) has to be of type "
                        #expect(
                            error?.message == "\(right)\(entry.typeName), not \(wrong.typeSignature)", "\(name)")
                    }
                }
                let after = try await Self.objects(box)
                #expect(after.keys.sorted() == before.keys.sorted())
                for (object, properties) in after { #expect(properties == before[object], "\(object)") }
                #expect(box.telephone.requests.count == 1)
            }
        }

        @Test func `A dictionary property refuses unknown entries`() async throws {
            try await Box.run { box in
                let set: [Value] = [
                    .string(BTCallName.Interface.manager), .string(BTCallName.Manager.configuration),
                    .variant(.vardict(["displayname": "kitchen"])),
                ]
                do throws(BusError) {
                    _ = try await box.client.call(
                        "org.btcall", BTCallPath.manager, "org.freedesktop.DBus.Properties", "Set", set)
                    Issue.record("it was accepted")
                } catch {
                    #expect(error.name == "org.btcall.Error.InvalidArgument")
                    #expect(
                        error.message.hasPrefix(
                            "unknown in Configuration: \"displayname\" (did you mean 'displayName'?); accepted: accountId,"
                        ),
                        "\(error.message)")
                }
            }
        }
    }
}
