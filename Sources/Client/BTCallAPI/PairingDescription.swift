package import DBus

/// The options of `Pairing1.Open`.
package struct PairingOptions: Hashable, Sendable {
    /// Addresses and name patterns; empty: any audio device.
    package var allow: [String]
    package var pin: String?
    /// Search and page during a call too.
    package var search: Bool

    package init(allow: [String] = [], pin: String? = nil, search: Bool = false) {
        self.search = search
        self.allow = allow
        self.pin = pin
    }

    /// - Throws: `.invalidArgument` for an entry of the wrong type.
    package init(_ fields: Fields) throws(APIError) {
        self.init(
            allow: try fields.strings("allow"), pin: try fields.optionalString("pin"),
            search: try fields.optionalBool("search") ?? false)
    }

    package var values: [String: Value] {
        var values: [String: Value] = [:]
        if !allow.isEmpty { values["allow"] = .strings(allow) }
        if let pin { values["pin"] = .string(pin) }
        if search { values["search"] = .bool(true) }
        return values
    }
}
