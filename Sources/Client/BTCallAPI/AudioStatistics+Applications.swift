package import DBus

extension AudioStatistics {
    /// The program that renders the audio in place of the devices.
    package struct Manual: Hashable, Sendable {
        /// The unique bus name of the program.
        package var owner: String
        /// Blocks that the far end has heard.
        package var blocksIn: UInt64 = 0
        /// Blocks of silence sent to the far end because the program was late.
        package var missing: UInt64 = 0
        /// Messages of a wrong size.
        package var bad: UInt64 = 0
        /// Blocks sent to the program.
        package var blocksOut: UInt64 = 0
        /// Blocks dropped because the program was slow to read.
        package var dropped: UInt64 = 0

        package init(owner: String) {
            self.owner = owner
        }
    }

    /// A copy of a call for a program that records it.
    package struct Tap: Hashable, Sendable {
        /// The call's object path.
        package var call: String
        /// The unique bus name of the program.
        package var owner: String
        package var blocks: UInt64 = 0
        /// Blocks dropped because the program was slow to read.
        package var dropped: UInt64 = 0

        package init(call: String, owner: String) {
            self.call = call
            self.owner = owner
        }
    }
}

extension AudioStatistics.Manual {
    package init(_ fields: Fields) throws(APIError) {
        owner = try fields.string("owner")
        blocksIn = try fields.optionalInteger("blocksIn") ?? 0
        missing = try fields.optionalInteger("missing") ?? 0
        bad = try fields.optionalInteger("bad") ?? 0
        blocksOut = try fields.optionalInteger("blocksOut") ?? 0
        dropped = try fields.optionalInteger("dropped") ?? 0
    }

    package var fields: [String: Value] {
        [
            "owner": .string(owner), "blocksIn": .uint64(blocksIn), "missing": .uint64(missing), "bad": .uint64(bad),
            "blocksOut": .uint64(blocksOut), "dropped": .uint64(dropped),
        ]
    }
}

extension AudioStatistics.Tap {
    package init(_ fields: Fields) throws(APIError) {
        call = try fields.string("call")
        owner = try fields.string("owner")
        blocks = try fields.optionalInteger("blocks") ?? 0
        dropped = try fields.optionalInteger("dropped") ?? 0
    }

    package var fields: [String: Value] {
        ["call": .string(call), "owner": .string(owner), "blocks": .uint64(blocks), "dropped": .uint64(dropped)]
    }
}
