/// A call of an exported method.
package struct MethodCall: Sendable {
    /// The caller's unique name.
    package let sender: String
    package let path: String
    package let interface: String
    package let member: String
    /// Values of the method's declared types.
    package let arguments: [Value]

    package init(sender: String, path: String, interface: String, member: String, arguments: [Value]) {
        self.sender = sender
        self.path = path
        self.interface = interface
        self.member = member
        self.arguments = arguments
    }
}

/// A received signal.
package struct BusSignal: Sendable {
    /// The sender's unique name, or "org.freedesktop.DBus" for the bus itself.
    package let sender: String
    package let path: String
    package let interface: String
    package let member: String
    /// As sent: the sender chooses their types.
    package let arguments: [Value]

    package init(sender: String, path: String, interface: String, member: String, arguments: [Value]) {
        self.sender = sender
        self.path = path
        self.interface = interface
        self.member = member
        self.arguments = arguments
    }
}
