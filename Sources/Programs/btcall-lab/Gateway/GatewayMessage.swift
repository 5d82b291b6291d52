import BTCallSimulator
import CommandKit
import HandsFree
import JSONText
import Telephony

/// One message from the driver of `btcall-lab gateway`.
enum GatewayMessage: Hashable, Sendable {
    case configure(GatewaySetup)
    case linkUp(Int, path: String)
    case calls([GatewayCall], isSwapped: Bool)
    case event(link: Int, Event)
    case reply(Int, AudioGateway.RequestOutcome)
    case quit

    /// An event of one headset.
    enum Event: Hashable, Sendable {
        case audioWanted(Bool)
        /// In the order of the indicators.
        case indicators([Indicator: Int])
        case audioIncoming
        case audioClosed
        case linkLost
        case volume(AudioGateway.VolumeDirection, Int)
        case voiceRecognition(Bool)
        case inbandRing(Bool)
        /// - Parameter id: any number; an unknown one changes nothing.
        case hfIndicator(id: Int, Bool)
    }
}

/// The content of `configure`.
struct GatewaySetup: Hashable, Sendable {
    var configuration = AudioGatewayConfiguration()
    var calls: [GatewayCall] = []
}

/// A call as described by the driver.
struct GatewayCall: Hashable, Sendable {
    let id: CallID
    let direction: CallDirection
    let state: CallState
    let details: CallDetails
    let isConference: Bool
}

extension GatewayMessage {
    private static let operations = "configure, link_up, calls, event, reply, quit"

    /// Reads one line.
    ///
    /// - Throws: `MessageRefusal`; `unsupported` only for `configure`.
    init(line: [UInt8]) throws(MessageRefusal) {
        let fields = try MessageFields(json: line, "message")
        let operation = try fields.text("op")
        let own = fields.named(operation)
        switch operation {
        case "configure": self = .configure(try GatewaySetup(try own.object("ag")))
        case "link_up": self = .linkUp(try own.number("link"), path: try own.text("path"))
        case "calls":
            self = .calls(try GatewayCall.table(own), isSwapped: try own.optionalFlag("swapped") ?? false)
        case "event": self = .event(link: try own.number("link"), try Event(try own.object("event")))
        case "reply":
            let id = try own.number("id")
            guard try !own.flag("ok") else {
                self = .reply(id, .done)
                return
            }
            self = .reply(id, .failed(CMEError(code: try own.optionalNumber("cme") ?? 0)))
        case "quit": self = .quit
        default:
            throw .malformed("\"op\": one of \(Self.operations) expected, not \"\(operation)\"")
        }
    }
}

extension GatewayMessage.Event {
    private static let types = """
        audio_request, set, sco_incoming, sco_closed, link_lost, ag_volume, ag_voice_recognition, set_inband, \
        hf_indicator_enable
        """

    fileprivate init(_ fields: MessageFields) throws(MessageRefusal) {
        let type = try fields.text("type")
        let own = fields.named("event \(type)")
        switch type {
        case "audio_request": self = .audioWanted(try own.word("want", ["connect": true, "disconnect": false]))
        case "set":
            var values: [Indicator: Int] = [:]
            for indicator in Indicator.allCases where !indicator.isMandatory {
                values[indicator] = try own.optionalNumber(indicator.name)
            }
            self = .indicators(values)
        case "sco_incoming": self = .audioIncoming
        case "sco_closed": self = .audioClosed
        case "link_lost": self = .linkLost
        case "ag_volume":
            let direction = try own.word(
                "which", ["speaker": AudioGateway.VolumeDirection.speaker, "microphone": .microphone])
            self = .volume(direction, try own.number("value"))
        case "ag_voice_recognition": self = .voiceRecognition(try own.flag("on"))
        case "set_inband": self = .inbandRing(try own.flag("value"))
        case "hf_indicator_enable": self = .hfIndicator(id: try own.number("id"), try own.flag("on"))
        default:
            throw .malformed("event: \"type\": one of \(Self.types) expected, not \"\(type)\"")
        }
    }
}

extension GatewayCall {
    /// The list `calls` of an object.
    static func table(_ fields: MessageFields) throws(MessageRefusal) -> [GatewayCall] {
        var calls: [GatewayCall] = []
        for value in try fields.list("calls") {
            let call = try GatewayCall(try MessageFields("\(fields.name): \"calls\"", value))
            guard !calls.contains(where: { $0.id == call.id }) else {
                throw .malformed("\(fields.name): \"calls\": two calls with the id \(call.id.value)")
            }
            calls.append(call)
        }
        return calls
    }

    private init(_ fields: MessageFields) throws(MessageRefusal) {
        let number = try fields.number("id")
        guard let value = UInt32(exactly: number) else {
            throw .malformed("\(fields.name): \"id\": 0 to \(UInt32.max) expected, not \(number)")
        }
        id = CallID(value)
        direction = try fields.word("dir", ["in": .incoming, "out": .outgoing])
        state = try fields.word(
            "state",
            [
                "dialing": .dialing, "alerting": .alerting, "incoming": .incoming, "waiting": .waiting,
                "active": .active, "held": .held,
            ])
        details = CallDetails(
            number: try fields.optionalText("number"), numberType: try fields.optionalNumber("type"))
        isConference = try fields.optionalFlag("mpty") ?? false
    }
}
