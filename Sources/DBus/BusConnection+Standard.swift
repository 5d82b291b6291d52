internal import ControlLoop

extension BusConnection {
    static let introspectableName = "org.freedesktop.DBus.Introspectable"
    static let propertiesName = "org.freedesktop.DBus.Properties"
    static let managerName = "org.freedesktop.DBus.ObjectManager"

    /// What every object has (`Peer` is libdbus' own), and what object managers have besides.
    func makeStandardInterfaces() {
        // The handlers run in tasks that hold the connection, so it is alive whenever they are.
        standard = [
            ExportedInterface(
                Self.introspectableName,
                methods: [
                    .init("Introspect", out: [("xml_data", "s")]) { [unowned self] call throws(BusError) in
                        [.string(introspection(of: call.path))]
                    }
                ]),
            ExportedInterface("org.freedesktop.DBus.Peer", methods: [.init("Ping") { _ throws(BusError) in [] }]),
            ExportedInterface(
                Self.propertiesName,
                methods: [
                    .init(
                        "Get", in: [("interface_name", "s"), ("property_name", "s")], out: [("value", "v")]
                    ) { [unowned self] call throws(BusError) in
                        [.variant(try property(call))]
                    },
                    .init(
                        "Set", in: [("interface_name", "s"), ("property_name", "s"), ("value", "v")]
                    ) { [unowned self] call throws(BusError) in
                        try setProperty(call)
                        return []
                    },
                    .init(
                        "GetAll", in: [("interface_name", "s")], out: [("properties", "a{sv}")]
                    ) { [unowned self] call throws(BusError) in
                        [try allProperties(call)]
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
                .init(
                    "GetManagedObjects", out: [("objects", "a{oa{sa{sv}}}")]
                ) { [unowned self] call throws(BusError) in
                    [managedObjects(below: call.path)]
                }
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

    private func managedObjects(below root: String) -> Value {
        .dictionary(
            "o", "a{sa{sv}}",
            tree.paths(below: root).map { path in
                let interfaces = (tree.objects[path] ?? [:]).values.sorted { $0.name < $1.name }
                return DictionaryEntry(.objectPath(path), description(of: interfaces))
            })
    }

    // MARK: Properties

    private func property(_ call: MethodCall) throws(BusError) -> Value {
        let (interface, property) = try findProperty(call)
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

    private func allProperties(_ call: MethodCall) throws(BusError) -> Value {
        let wanted = call.arguments.first?.stringValue ?? ""
        let interfaces = interfaces(at: call.path).filter { wanted.isEmpty || $0.name == wanted }
        guard !interfaces.isEmpty else { throw unknownInterface(wanted, call.path) }
        var values: [String: Value] = [:]
        for interface in interfaces {
            for property in interface.properties { values[property.name] = value(of: property, interface.name) }
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
