internal import ControlLoop

/// An object's methods, signals and properties under one interface name: used to answer calls and to describe the object.
package struct ExportedInterface: Sendable {
    /// A named, typed argument of a method or signal.
    package struct Argument: Hashable, Sendable {
        package let name: String
        package let signature: String
    }

    package struct Method: Sendable {
        package let name: String
        package let inArguments: [Argument]
        package let outArguments: [Argument]
        /// Whether it only answers: a call without a reply then needs no work.
        package let isReading: Bool
        /// Whether a call may have descriptors.
        let takesDescriptors: Bool
        let handler: @ControlPlane (MethodCall) async throws(BusError) -> [Value]

        /// - Parameters:
        ///   - arguments: a call with others is refused (`InvalidArgs`) before the handler runs.
        ///   - results: what the handler returns; anything else is our fault and is answered as such.
        ///   - isReading: the method only answers; a call without a reply is then dropped.
        ///   - takesDescriptors: an argument may contain descriptors although its signature has none, as `a{sv}`.
        ///   - handler: its error is the error reply. Calls start in the order of their arrival.
        package init(
            _ name: String, in arguments: [(name: String, signature: String)] = [],
            out results: [(name: String, signature: String)] = [], isReading: Bool = false,
            takesDescriptors: Bool = false,
            _ handler: @escaping @ControlPlane (MethodCall) async throws(BusError) -> [Value]
        ) {
            self.name = name
            self.isReading = isReading
            self.takesDescriptors =
                takesDescriptors || arguments.contains { $0.signature.utf8.contains(UInt8(ascii: "h")) }
            inArguments = arguments.map { Argument(name: $0.name, signature: $0.signature) }
            outArguments = results.map { Argument(name: $0.name, signature: $0.signature) }
            self.handler = handler
        }

        var inSignature: String { inArguments.map(\.signature).joined() }
        var outSignature: String { outArguments.map(\.signature).joined() }
    }

    package struct Property: Sendable {
        /// What `PropertiesChanged` says about it (`org.freedesktop.DBus.Property.EmitsChangedSignal`).
        package enum Changes: Sendable { case signalled, invalidated, constant, silent }

        package let name: String
        package let signature: String
        package let changes: Changes
        /// Not readable by everybody; see `BusConnection.readers`.
        package let isConfidential: Bool
        let get: @ControlPlane () -> Value
        let set: (@ControlPlane (Value) throws(BusError) -> Void)?

        /// - Parameters:
        ///   - isConfidential: readable only by `BusConnection.readers`.
        ///   - get: returns a value of the signature; anything else is our fault.
        ///   - set: nil for a read-only property. Called with a value of the signature. It signals the change itself, by
        ///     `BusConnection.propertiesChanged`.
        package init(
            _ name: String, _ signature: String, changes: Changes = .signalled, isConfidential: Bool = false,
            get: @escaping @ControlPlane () -> Value,
            set: (@ControlPlane (Value) throws(BusError) -> Void)? = nil
        ) {
            self.name = name
            self.signature = signature
            self.changes = changes
            self.isConfidential = isConfidential
            self.get = get
            self.set = set
        }

        package var isWritable: Bool { self.set != nil }
    }

    package struct SignalDescription: Sendable {
        package let name: String
        package let arguments: [Argument]

        package init(_ name: String, _ arguments: [(name: String, signature: String)] = []) {
            self.name = name
            self.arguments = arguments.map { Argument(name: $0.name, signature: $0.signature) }
        }
    }

    package let name: String
    package let methods: [Method]
    package let signals: [SignalDescription]
    package let properties: [Property]

    package init(
        _ name: String, methods: [Method] = [], signals: [SignalDescription] = [], properties: [Property] = []
    ) {
        self.name = name
        self.methods = methods
        self.signals = signals
        self.properties = properties
    }

    func method(_ name: String) -> Method? { methods.first { $0.name == name } }

    func property(_ name: String) -> Property? { properties.first { $0.name == name } }

    /// The `interface` element of introspection data, indented by two spaces, with a line feed at its end.
    package var introspectionXML: String {
        var xml = "  <interface name=\"\(name)\">\n"
        for method in methods {
            let arguments =
                method.inArguments.map { Self.argument($0, " direction=\"in\"") }
                + method.outArguments.map { Self.argument($0, " direction=\"out\"") }
            xml += Self.element("method", method.name, arguments)
        }
        for signal in signals {
            xml += Self.element("signal", signal.name, signal.arguments.map { Self.argument($0, "") })
        }
        for property in properties {
            let access = property.isWritable ? "readwrite" : "read"
            xml += "    <property name=\"\(property.name)\" type=\"\(property.signature)\" access=\"\(access)\""
            let annotation: String? =
                switch property.changes {
                case .signalled: nil
                case .invalidated: "invalidates"
                case .constant: "const"
                case .silent: "false"
                }
            if let annotation {
                xml += ">\n      <annotation name=\"org.freedesktop.DBus.Property.EmitsChangedSignal\""
                xml += " value=\"\(annotation)\"/>\n    </property>\n"
            } else {
                xml += "/>\n"
            }
        }
        return xml + "  </interface>\n"
    }

    private static func argument(_ argument: Argument, _ direction: String) -> String {
        "      <arg name=\"\(argument.name)\" type=\"\(argument.signature)\"\(direction)/>\n"
    }

    private static func element(_ kind: String, _ name: String, _ arguments: [String]) -> String {
        if arguments.isEmpty { return "    <\(kind) name=\"\(name)\"/>\n" }
        return "    <\(kind) name=\"\(name)\">\n" + arguments.joined() + "    </\(kind)>\n"
    }

    /// The mistake in the description; nil without one.
    var mistake: BusError? {
        do {
            try NameRule.interface.check(name)
            for method in methods {
                try NameRule.member.check(method.name)
                try Self.check(method.inArguments)
                try Self.check(method.outArguments)
            }
            for signal in signals {
                try NameRule.member.check(signal.name)
                try Self.check(signal.arguments)
            }
            for property in properties {
                try NameRule.member.check(property.name)
                _ = try Signature.CompleteType(property.signature)
            }
            return nil
        } catch {
            return error
        }
    }

    private static func check(_ arguments: [Argument]) throws(BusError) {
        for argument in arguments {
            _ = try Signature.CompleteType(argument.signature)
            guard argument.name.utf8.allSatisfy({ $0 == 0x5F || isASCIILetterOrDigit($0) }) else {
                throw .invalidArguments("'\(argument.name)' is not an argument name")
            }
        }
    }

    private static func isASCIILetterOrDigit(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
            UInt8(ascii: "0")...UInt8(ascii: "9"):
            true
        default: false
        }
    }
}
