/// Length limits in bytes of UTF-8 for strings from programs on the bus, which the daemon keeps, logs and passes on.
package enum TextLimit: Int {
    /// A word of a closed list, a device word or a Bluetooth address; the tones of one `SendDTMF`.
    case word = 64
    /// A telephone number or address to dial, the name of a person or an application, the key of a setting.
    case name = 128
    /// The far end's address as known to an application; the path of an object.
    case address = 256
    /// A provider's designation: its name, or its name with its name on the bus.
    case provider = 512
    /// The value of a setting.
    case value = 16384

    /// - Parameter what: the argument or option, for the message.
    /// - Returns: the text.
    /// - Throws: `.invalidArgument` for a text that is too long.
    package func check(_ text: String, _ what: String) throws(APIError) -> String {
        guard text.utf8.count <= rawValue else {
            throw APIError(
                .invalidArgument, "\(what) is \(text.utf8.count) bytes long; accepted: at most \(rawValue) bytes")
        }
        return text
    }
}
