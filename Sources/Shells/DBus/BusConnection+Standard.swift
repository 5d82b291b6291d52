internal import CDBus
internal import ControlLoop

extension BusConnection {
    static let introspectableName = "org.freedesktop.DBus.Introspectable"
    static let propertiesName = "org.freedesktop.DBus.Properties"
    static let managerName = "org.freedesktop.DBus.ObjectManager"
    static let peerName = "org.freedesktop.DBus.Peer"

    /// Interfaces of every object, and those of object managers.
    func makeStandardInterfaces() {
        // The handlers run in tasks that hold the connection, so it is alive whenever they are.
        standard = [
            ExportedInterface(
                Self.introspectableName,
                methods: [
                    .init("Introspect", out: [("xml_data", "s")], isReading: true) {
                        [unowned self] call throws(BusError) in
                        [.string(introspection(of: call.path))]
                    }
                ]),
            ExportedInterface(
                Self.peerName,
                methods: [
                    .init("Ping", isReading: true) { _ throws(BusError) in [] },
                    .init("GetMachineId", out: [("machine_uuid", "s")], isReading: true) { _ throws(BusError) in
                        [.string(try Self.machineID())]
                    },
                ]),
            ExportedInterface(
                Self.propertiesName,
                methods: [
                    .init(
                        "Get", in: [("interface_name", "s"), ("property_name", "s")], out: [("value", "v")],
                        isReading: true
                    ) { [unowned self] call async throws(BusError) in
                        [.variant(try await property(call))]
                    },
                    .init(
                        "Set", in: [("interface_name", "s"), ("property_name", "s"), ("value", "v")]
                    ) { [unowned self] call throws(BusError) in
                        try setProperty(call)
                        return []
                    },
                    .init(
                        "GetAll", in: [("interface_name", "s")], out: [("properties", "a{sv}")], isReading: true
                    ) { [unowned self] call async throws(BusError) in
                        [try await allProperties(call)]
                    },
                ],
                signals: [
                    .init(
                        "PropertiesChanged",
                        [
                            ("interface_name", "s"), ("changed_properties", "a{sv}"),
                            ("invalidated_properties", "as"),
                        ])
                ]),
        ]
        manager = ExportedInterface(
            Self.managerName,
            methods: [
                // Answered by `managedObjects(for:_:)`, which caches answers.
                .init("GetManagedObjects", out: [("objects", "a{oa{sa{sv}}}")], isReading: true) { _ in [] }
            ],
            signals: [
                .init("InterfacesAdded", [("object", "o"), ("interfaces", "a{sa{sv}}")]),
                .init("InterfacesRemoved", [("object", "o"), ("interfaces", "as")]),
            ])
    }

    func introspection(of path: String) -> String {
        var xml = """
            <!DOCTYPE node PUBLIC "-//freedesktop//DTD D-BUS Object Introspection 1.0//EN"
              "http://www.freedesktop.org/standards/dbus/1.0/introspect.dtd">
            <node>

            """
        for interface in interfaces(at: path) { xml += interface.introspectionXML }
        for child in tree.children(of: path) { xml += "  <node name=\"\(child)\"/>\n" }
        return xml + "</node>\n"
    }

    private static func machineID() throws(BusError) -> String {
        let text = try BusError.check { dbus_try_get_local_machine_id($0) }
        defer { dbus_free(text) }
        guard let text else { throw .failed("this machine has no identifier: see systemd-machine-id-setup(1)") }
        return String(cString: text)
    }

    // MARK: Properties

    private func property(_ call: MethodCall) async throws(BusError) -> Value {
        var (interface, property) = try findProperty(call)
        if property.isConfidential, let readers {
            guard await readers.contains(call.sender) else {
                throw .accessDenied("\(interface.name).\(property.name) is for \(readers.description)")
            }
            // The object may have gone meanwhile.
            (interface, property) = try findProperty(call)
        }
        guard let value = value(of: property, interface.name) else {
            throw .fault("\(interface.name).\(property.name) has a value of a wrong type")
        }
        return value
    }

    private func setProperty(_ call: MethodCall) throws(BusError) {
        let (interface, property) = try findProperty(call)
        guard let set = property.set else {
            throw BusError(
                name: BusError.Name.propertyReadOnly, message: "\(interface.name).\(property.name) is read-only")
        }
        guard call.arguments.count == 3, case .variant(let value) = call.arguments[2],
            value.typeSignature == property.signature
        else {
            let found = call.arguments.last.map { if case .variant(let inner) = $0 { inner.typeSignature } else { "" } }
            throw .invalidArguments(
                "\(interface.name).\(property.name): expected '\(property.signature)', got '\(found ?? "")'")
        }
        try set(value)
    }

    /// Leaves out properties that the caller may not read, as the specification requires.
    private func allProperties(_ call: MethodCall) async throws(BusError) -> Value {
        let wanted = call.arguments.first?.stringValue ?? ""
        func found() throws(BusError) -> [ExportedInterface] {
            let interfaces = interfaces(at: call.path).filter { wanted.isEmpty || $0.name == wanted }
            guard !interfaces.isEmpty else { throw unknownInterface(wanted, call.path) }
            return interfaces
        }
        let isFull =
            if try found().contains(where: { $0.properties.contains(where: \.isConfidential) }) {
                await isReader(call.sender)
            } else { true }
        var values: [String: Value] = [:]
        for interface in try found() {
            for property in interface.properties where isFull || !property.isConfidential {
                values[property.name] = value(of: property, interface.name)
            }
        }
        return .vardict(values)
    }

    /// The property that the first two arguments name; an empty interface name means any.
    private func findProperty(
        _ call: MethodCall
    ) throws(BusError) -> (ExportedInterface, ExportedInterface.Property) {
        let wanted = call.arguments.first?.stringValue ?? ""
        let name = call.arguments.dropFirst().first?.stringValue ?? ""
        let interfaces = interfaces(at: call.path).filter { wanted.isEmpty || $0.name == wanted }
        guard !interfaces.isEmpty else { throw unknownInterface(wanted, call.path) }
        for interface in interfaces {
            if let property = interface.property(name) { return (interface, property) }
        }
        throw BusError(name: BusError.Name.unknownProperty, message: "\(wanted) has no property \(name)")
    }

    private func unknownInterface(_ name: String, _ path: String) -> BusError {
        BusError(name: BusError.Name.unknownInterface, message: "\(path) has no interface \(name)")
    }
}
