internal import CDBus
internal import ControlLoop

/// A message of libdbus, counted by this object.
@ControlPlane
final class Message {
    enum Kind { case call, reply, error, signal, other }

    nonisolated(unsafe) let handle: OpaquePointer

    /// Takes over a reference.
    init(taking handle: OpaquePointer) {
        self.handle = handle
    }

    /// Adds a reference.
    init(sharing handle: OpaquePointer) {
        self.handle = dbus_message_ref(handle)
    }

    deinit {
        dbus_message_unref(handle)
    }

    // MARK: Making

    static func call(
        _ destination: String, _ path: String, _ interface: String, _ member: String, _ arguments: [Value],
        expectsReply: Bool = true
    ) throws(BusError) -> Message {
        try NameRule.busName.check(destination)
        try NameRule.objectPath.check(path)
        try NameRule.interface.check(interface)
        try NameRule.member.check(member)
        let message = try Message(dbus_message_new_method_call(destination, path, interface, member))
        if !expectsReply { dbus_message_set_no_reply(message.handle, 1) }
        try message.append(arguments, as: try Value.check(arguments))
        return message
    }

    static func signal(
        path: String, interface: String, member: String, _ arguments: [Value], destination: String?
    ) throws(BusError) -> Message {
        try NameRule.objectPath.check(path)
        try NameRule.interface.check(interface)
        try NameRule.member.check(member)
        let message = try Message(dbus_message_new_signal(path, interface, member))
        if let destination {
            try NameRule.busName.check(destination)
            guard dbus_message_set_destination(message.handle, destination) != 0 else { throw Self.noMemory }
        }
        try message.append(arguments, as: try Value.check(arguments))
        return message
    }

    /// - Parameter types: the required types of the values.
    func reply(_ values: [Value], as types: Signature) throws(BusError) -> Message {
        let reply = try Message(dbus_message_new_method_return(handle))
        try reply.append(values, as: try Value.check(values, against: types))
        return reply
    }

    /// The same answer to another call.
    func copy(to call: Message) throws(BusError) -> Message {
        let copy = try Message(dbus_message_copy(handle))
        guard dbus_message_set_reply_serial(copy.handle, dbus_message_get_serial(call.handle)) != 0,
            dbus_message_set_destination(copy.handle, dbus_message_get_sender(call.handle)) != 0
        else { throw Self.noMemory }
        return copy
    }

    func reply(_ error: BusError) throws(BusError) -> Message {
        try NameRule.errorName.check(error.name)
        let text = error.message.utf8.contains(0) ? String(error.message.filter { $0 != "\0" }) : error.message
        return try Message(dbus_message_new_error(handle, error.name, text))
    }

    private convenience init(_ handle: OpaquePointer?) throws(BusError) {
        guard let handle else { throw Self.noMemory }
        self.init(taking: handle)
    }

    private func append(_ values: [Value], as signature: Signature) throws(BusError) {
        var iterator = DBusMessageIter()
        dbus_message_iter_init_append(handle, &iterator)
        for value in values where !MessageWriter.append(value, to: &iterator) {
            throw .failed("a message could not be built: out of memory or descriptors")
        }
    }

    private static let noMemory = BusError(name: "org.freedesktop.DBus.Error.NoMemory", message: "out of memory")

    // MARK: Reading

    var kind: Kind {
        switch dbus_message_get_type(handle) {
        case DBUS_MESSAGE_TYPE_METHOD_CALL: .call
        case DBUS_MESSAGE_TYPE_METHOD_RETURN: .reply
        case DBUS_MESSAGE_TYPE_ERROR: .error
        case DBUS_MESSAGE_TYPE_SIGNAL: .signal
        default: .other
        }
    }

    var sender: String { Self.text(dbus_message_get_sender(handle)) ?? "" }
    var path: String { Self.text(dbus_message_get_path(handle)) ?? "" }
    var interface: String? { Self.text(dbus_message_get_interface(handle)) }
    var member: String { Self.text(dbus_message_get_member(handle)) ?? "" }
    var signature: String { Self.text(dbus_message_get_signature(handle)) ?? "" }
    var replySerial: UInt32 { dbus_message_get_reply_serial(handle) }
    var expectsReply: Bool { dbus_message_get_no_reply(handle) == 0 }

    /// The error that an error message carries.
    var error: BusError {
        let name = Self.text(dbus_message_get_error_name(handle)) ?? BusError.Name.failed
        // An unreadable message leaves the text empty; the name says enough.
        let text = (try? arguments())?.first?.stringValue ?? ""
        // The text goes into the log and to other programs.
        return BusError(name: name, message: text.utf8.count <= Self.longestErrorText ? text : Self.shortened(text))
    }

    /// Longest text in bytes of another program's error; the rest is cut off.
    private static let longestErrorText = 1024

    private static func shortened(_ text: String) -> String {
        String(decoding: text.utf8.prefix(longestErrorText), as: UTF8.self) + "…"
    }

    /// - Throws: `LimitsExceeded` for more values than any program has reason to send.
    func arguments() throws(BusError) -> [Value] {
        try MessageReader.read(handle, .wide).values
    }

    /// The same for a call of any program on the bus, within narrower limits.
    ///
    /// - Returns: the values, and their approximate size in bytes.
    func callArguments() throws(BusError) -> (values: [Value], size: Int) {
        try MessageReader.read(handle, .call)
    }

    var hasDescriptors: Bool { dbus_message_contains_unix_fds(handle) != 0 }

    /// The first argument if it is a string, without reading the others.
    var firstString: String? {
        var iterator = DBusMessageIter()
        guard dbus_message_iter_init(handle, &iterator) != 0,
            dbus_message_iter_get_arg_type(&iterator) == TypeCode.string
        else { return nil }
        return MessageReader.text(&iterator)
    }

    private static func text(_ pointer: UnsafePointer<CChar>?) -> String? { pointer.map { String(cString: $0) } }
}

/// The type codes, whose macros Swift does not import.
enum TypeCode {
    static let invalid: Int32 = 0
    static let byte = Int32(UInt8(ascii: "y"))
    static let boolean = Int32(UInt8(ascii: "b"))
    static let int16 = Int32(UInt8(ascii: "n"))
    static let uint16 = Int32(UInt8(ascii: "q"))
    static let int32 = Int32(UInt8(ascii: "i"))
    static let uint32 = Int32(UInt8(ascii: "u"))
    static let int64 = Int32(UInt8(ascii: "x"))
    static let uint64 = Int32(UInt8(ascii: "t"))
    static let double = Int32(UInt8(ascii: "d"))
    static let string = Int32(UInt8(ascii: "s"))
    static let objectPath = Int32(UInt8(ascii: "o"))
    static let signature = Int32(UInt8(ascii: "g"))
    static let unixDescriptor = Int32(UInt8(ascii: "h"))
    static let array = Int32(UInt8(ascii: "a"))
    static let structure = Int32(UInt8(ascii: "r"))
    static let dictionaryEntry = Int32(UInt8(ascii: "e"))
    static let variant = Int32(UInt8(ascii: "v"))
}
