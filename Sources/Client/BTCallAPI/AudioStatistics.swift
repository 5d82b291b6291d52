package import DBus

/// `Audio1.Statistics`: the real-time thread's counters since it started.
package struct AudioStatistics: Hashable, Sendable {
    /// An endpoint at the person's side: a headset's link, a sound card's path, or an A2DP stream to a headset.
    package struct Terminal: Hashable, Sendable {
        package enum Kind: String, Hashable, Sendable, CaseIterable {
            case link, path, stream
        }

        package var id: UInt32
        package var device: DeviceWord
        package var kind: Kind
        /// Nil for a path.
        package var codec: String?
        package var packetBytes: UInt32 = 0
        package var packetsReceived: UInt64 = 0
        package var packetsSent: UInt64 = 0
        package var framesConcealed: UInt64 = 0
        package var sequenceGaps: UInt64 = 0
        package var underruns: UInt64 = 0
        package var xruns: UInt64 = 0
        package var droppedBlocks: UInt64 = 0
        package var driftPPM: Double = 0
        package var queuedMs: Double = 0
        package var silentEvents: UInt64 = 0
        /// Of a stream: packets that the socket did not accept at once.
        package var packetsWaited: UInt64 = 0
        /// Present bitpool of a stream; 0 for others.
        package var bitpool: UInt32 = 0

        package init(id: UInt32, device: DeviceWord, kind: Kind, codec: String? = nil) {
            self.id = id
            self.device = device
            self.kind = kind
            self.codec = codec
        }
    }

    /// The exchange with the application that owns one call.
    package struct Call: Hashable, Sendable {
        /// The call's object path.
        package var call: String
        /// Blocks received from the application.
        package var blocksIn: UInt64 = 0
        /// Blocks sent to the application.
        package var blocksOut: UInt64 = 0
        /// Blocks that the application did not send in time.
        package var missing: UInt64 = 0
        /// Surplus blocks from the application, dropped oldest first.
        package var dropped: UInt64 = 0
        /// Blocks on their way to the application, or back and waiting: the delay of its audio in units of 10 ms.
        package var queueBlocks: UInt64 = 0

        package init(call: String) {
            self.call = call
        }
    }

    /// Audio that one program adds to the microphone.
    package struct Injection: Hashable, Sendable {
        /// The unique bus name of the program.
        package var owner: String
        /// Blocks that the far end has heard.
        package var blocks: UInt64 = 0
        /// Pauses that began because the program was late.
        package var missing: UInt64 = 0
        /// Messages of a wrong size.
        package var bad: UInt64 = 0

        package init(owner: String) {
            self.owner = owner
        }
    }

    /// Whether the thread runs with real-time priority.
    package var isRealtime = false
    /// Fill level of the sound cards' playback buffers in milliseconds.
    package var cardQueueMs: UInt64 = 0
    package var lateTicks: UInt64 = 0
    /// All losses caused by btcalld: concealed, missing, dropped, underruns and xruns.
    package var lost: UInt64 = 0
    package var terminals: [Terminal] = []
    package var calls: [Call] = []
    package var injections: [Injection] = []
    /// The program that renders the audio itself; nil without one.
    package var manual: Manual?
    package var taps: [Tap] = []

    package init() {}

    package init(_ fields: Fields) throws(APIError) {
        isRealtime = try fields.optionalBool("realtime") ?? false
        cardQueueMs = try fields.optionalInteger("cardQueueMs") ?? 0
        lateTicks = try fields.optionalInteger("lateTicks") ?? 0
        lost = try fields.optionalInteger("lost") ?? 0
        for element in try fields.dictionaries("terminals") {
            terminals.append(try Terminal(element))
        }
        for element in try fields.dictionaries("calls") {
            calls.append(try Call(element))
        }
        for element in try fields.dictionaries("injections") {
            injections.append(try Injection(element))
        }
        for element in try fields.dictionaries("manual") {
            manual = try Manual(element)
        }
        for element in try fields.dictionaries("taps") {
            taps.append(try Tap(element))
        }
    }

    package var fields: [String: Value] {
        [
            "realtime": .bool(isRealtime),
            "cardQueueMs": .uint64(cardQueueMs),
            "lateTicks": .uint64(lateTicks),
            "lost": .uint64(lost),
            "terminals": .vardicts(terminals.map(\.fields)),
            "calls": .vardicts(calls.map(\.fields)),
            "injections": .vardicts(injections.map(\.fields)),
            "manual": .vardicts([manual].compactMap { $0?.fields }),
            "taps": .vardicts(taps.map(\.fields)),
        ]
    }
}

extension AudioStatistics.Terminal {
    package init(_ fields: Fields) throws(APIError) {
        id = try fields.optionalInteger("id") ?? 0
        device = try fields.device("device")
        kind = try fields.word("kind", of: Kind.self)
        codec = try fields.optionalString("codec")?.nonEmpty
        packetBytes = try fields.optionalInteger("packetBytes") ?? 0
        packetsReceived = try fields.optionalInteger("packetsReceived") ?? 0
        packetsSent = try fields.optionalInteger("packetsSent") ?? 0
        framesConcealed = try fields.optionalInteger("framesConcealed") ?? 0
        sequenceGaps = try fields.optionalInteger("sequenceGaps") ?? 0
        underruns = try fields.optionalInteger("underruns") ?? 0
        xruns = try fields.optionalInteger("xruns") ?? 0
        droppedBlocks = try fields.optionalInteger("droppedBlocks") ?? 0
        driftPPM = try fields.optionalDouble("driftPPM") ?? 0
        queuedMs = try fields.optionalDouble("queuedMs") ?? 0
        silentEvents = try fields.optionalInteger("silentEvents") ?? 0
        packetsWaited = try fields.optionalInteger("packetsWaited") ?? 0
        bitpool = try fields.optionalInteger("bitpool") ?? 0
    }

    package var fields: [String: Value] {
        [String: Value](present: [
            "id": .uint32(id),
            "device": .string(device.description),
            "kind": .string(kind.rawValue),
            "codec": .text(codec),
            "packetBytes": packetBytes > 0 ? .uint32(packetBytes) : nil,
            "packetsReceived": .uint64(packetsReceived),
            "packetsSent": .uint64(packetsSent),
            "framesConcealed": .uint64(framesConcealed),
            "sequenceGaps": .uint64(sequenceGaps),
            "underruns": .uint64(underruns),
            "xruns": .uint64(xruns),
            "droppedBlocks": .uint64(droppedBlocks),
            "driftPPM": .double(driftPPM),
            "queuedMs": .double(queuedMs),
            "silentEvents": .uint64(silentEvents),
            "packetsWaited": .uint64(packetsWaited),
            "bitpool": bitpool > 0 ? .uint32(bitpool) : nil,
        ])
    }
}

extension AudioStatistics.Call {
    package init(_ fields: Fields) throws(APIError) {
        call = try fields.string("call")
        blocksIn = try fields.optionalInteger("blocksIn") ?? 0
        blocksOut = try fields.optionalInteger("blocksOut") ?? 0
        missing = try fields.optionalInteger("missing") ?? 0
        dropped = try fields.optionalInteger("dropped") ?? 0
        queueBlocks = try fields.optionalInteger("queueBlocks") ?? 0
    }

    package var fields: [String: Value] {
        [
            "call": .string(call), "blocksIn": .uint64(blocksIn), "blocksOut": .uint64(blocksOut),
            "missing": .uint64(missing), "dropped": .uint64(dropped), "queueBlocks": .uint64(queueBlocks),
        ]
    }
}

extension AudioStatistics.Injection {
    package init(_ fields: Fields) throws(APIError) {
        owner = try fields.string("owner")
        blocks = try fields.optionalInteger("blocks") ?? 0
        missing = try fields.optionalInteger("missing") ?? 0
        bad = try fields.optionalInteger("bad") ?? 0
    }

    package var fields: [String: Value] {
        ["owner": .string(owner), "blocks": .uint64(blocks), "missing": .uint64(missing), "bad": .uint64(bad)]
    }
}
