package import DBus

/// A request to play audio (`Audio1.OpenPlayback`).
package struct PlaybackRequest: Hashable, Sendable {
    /// The listeners.
    package enum Destination: String, CaseIterable, Sendable {
        /// The far end of the calls, mixed with the microphone.
        case call
        /// Everybody near the device that rings.
        case ring
        /// The person on the calls; without a call, everybody near the device for announcements.
        case page
    }

    package static let priorities = 0...10
    package static let duckRange = -90.0...0.0

    package var destination: Destination
    package var priority: Int
    /// Attenuation of the calls' far end meanwhile.
    package var duckDecibels: Double
    package var isMixable: Bool

    package init(_ destination: Destination, priority: Int = 5, duckDecibels: Double? = nil, isMixable: Bool = true) {
        self.destination = destination
        self.priority = priority
        self.duckDecibels = duckDecibels ?? Self.usualDuck(destination)
        self.isMixable = isMixable
    }

    /// Reads `to`, `priority`, `duck` and `mixable`; the defaults are `page`, 5, the destination's, yes.
    ///
    /// - Throws: `.invalidArgument` for a value that is not accepted, naming the accepted ones.
    package init(options fields: Fields) throws(APIError) {
        let destination = try fields.optionalWord("to", of: Destination.self) ?? .page
        if destination == .call {
            let given = [
                "priority": try fields.optionalInteger("priority", as: Int.self) != nil,
                "duck": try fields.optionalDouble("duck") != nil, "mixable": try fields.optionalBool("mixable") != nil,
            ]
            if let name = given.filter(\.value).keys.min() {
                throw APIError(
                    .invalidArgument,
                    "\(name) in \(fields.subject) has no meaning with to = call; leave it out, or play to ring or page")
            }
        }
        self.init(
            destination, priority: try fields.optionalInteger("priority") ?? 5,
            duckDecibels: try fields.optionalDouble("duck"), isMixable: try fields.optionalBool("mixable") ?? true)
        guard Self.priorities.contains(priority) else {
            throw APIError(.invalidArgument, "priority in \(fields.subject) is \(priority); accepted: 0 to 10")
        }
        guard Self.duckRange.contains(duckDecibels) else {
            throw APIError(
                .invalidArgument, "duck in \(fields.subject) is \(duckDecibels); accepted: -90.0 to 0.0 (dB)")
        }
    }

    package var options: [String: Value] {
        guard destination != .call else { return ["to": .string(destination.rawValue)] }
        return [
            "to": .string(destination.rawValue), "priority": .uint32(UInt32(clamping: priority)),
            "duck": .double(duckDecibels), "mixable": .bool(isMixable),
        ]
    }

    private static func usualDuck(_ destination: Destination) -> Double { destination == .page ? -12 : 0 }
}
