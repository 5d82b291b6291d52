/// How long the texts may be that programs on the bus give the daemon, in bytes of UTF-8. They are kept, logged and given to others.
package enum TextLimit: Int {
    /// A word of a closed list, a device word or a Bluetooth address; the tones of one `SendDTMF`.
    case word = 64
    /// A telephone number or address to dial, the name of a person or an application, the key of a setting.
    case name = 128
    /// The far end's address as an application knows it; the path of an object.
    case address = 256
    /// What a provider is found by: its name, or its name with its place on the bus.
    case provider = 512
    /// The value of a setting.
    case value = 16384

    /// - Parameter what: the argument or option, for the message.
    /// - Returns: the text.
    /// - Throws: `.invalidArgument` for a longer one.
    package func check(_ text: String, _ what: String) throws(APIError) -> String {
        guard text.utf8.count <= rawValue else {
            throw APIError(
                .invalidArgument, "\(what) is \(text.utf8.count) bytes long; accepted: at most \(rawValue) bytes")
        }
        return text
    }
}
