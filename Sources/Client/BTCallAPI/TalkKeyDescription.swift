package import DBus

/// An element of `Calls1.TalkKeys`: one key of the box.
package struct TalkKeyDescription: Hashable, Sendable {
    /// `board`, `headset`, `button` or `application`.
    package var kind: String
    /// The input as configured, the address of the device, or the unique bus name of the program.
    package var name: String
    package var isPressed: Bool

    package init(kind: String, name: String, isPressed: Bool) {
        self.kind = kind
        self.name = name
        self.isPressed = isPressed
    }

    package init(_ fields: Fields) throws(APIError) {
        kind = try fields.string("kind")
        name = try fields.string("name")
        isPressed = try fields.optionalBool("pressed") ?? false
    }

    package var fields: [String: Value] {
        ["kind": .string(kind), "name": .string(name), "pressed": .bool(isPressed)]
    }
}
