import BTCallSimulator
import BluetoothTypes
import CommandKit
import HandsFree
import JSONText

/// The object `ag` of `configure`. Missing keys have the default gateway's values; unknown keys are ignored.
extension GatewaySetup {
    /// - Throws: `malformed` for a value of the wrong kind; `unsupported` for a valid value that this gateway does not
    ///   support.
    init(_ fields: MessageFields) throws(MessageRefusal) {
        if let word = try fields.optionalText("profile") {
            guard let profile = AudioGatewayConfiguration.Profile(rawValue: word) else {
                throw .unsupported("profile \"\(word)\": accepted: HFP_AG, HSP_AG")
            }
            configuration.profile = profile
        }
        if let word = try fields.optionalTextOrNumber("version") {
            try readVersion(word)
        }
        if let words = try fields.optionalWords("features") {
            configuration.features = try Self.all(words, "feature") { AudioGatewayFeatures(word: $0) }
                .reduce([]) { $0.union($1) }
        }
        if let words = try fields.optionalWords("codecs") {
            configuration.codecs = try Self.all(words, "codec") { VoiceCodec(word: $0) }
        }
        if let words = try fields.optionalWords("chld") {
            configuration.threeWay = try Self.all(words, "chld option") { ThreeWayOption(rawValue: $0) }
        }
        try readHFIndicators(fields)
        try readNetwork(fields)
        try readNumbers(fields)
        configuration.inbandRing = try fields.optionalFlag("inband_ring") ?? configuration.inbandRing
        configuration.responseAndHold = try fields.optionalFlag("response_and_hold") ?? false
        if try fields.optionalList("calls") != nil { calls = try GatewayCall.table(fields) }
        // The driver decides when a request has timed out.
        configuration.requestTimeout = .seconds(86400)
    }

    /// The Headset Profile has versions of its own, which change nothing here.
    private mutating func readVersion(_ word: String) throws(MessageRefusal) {
        if configuration.profile == .headset, ["1", "1.0", "1.1", "1.2"].contains(word) { return }
        // 1.10 as a number is 1.1.
        guard let version = ProfileVersion(word: word == "1.1" ? "1.10" : word) else {
            let own = configuration.profile == .headset ? "1.0 to 1.2, or those of HFP_AG: " : ""
            throw .unsupported("version \"\(word)\": accepted: \(own)1.5 to 1.10")
        }
        configuration.version = version
    }

    private static func all<Value>(
        _ words: [String], _ kind: String, _ read: (String) -> Value?
    ) throws(MessageRefusal) -> [Value] {
        var values: [Value] = []
        for word in words {
            guard let value = read(word) else { throw .unsupported("there is no \(kind) \"\(word)\"") }
            values.append(value)
        }
        return values
    }

    private mutating func readHFIndicators(_ fields: MessageFields) throws(MessageRefusal) {
        guard let list = try fields.optionalObject("hf_indicators") else { return }
        configuration.hfIndicators = [:]
        for key in list.keys {
            let isOn = try list.word(key, ["enabled": true, "disabled": false])
            guard let id = Int(key) else {
                throw .malformed("\(list.name): the number of an indicator expected, not \"\(key)\"")
            }
            guard let indicator = HFIndicator(rawValue: id) else {
                throw .unsupported("there is no HF indicator \(id); accepted: 1, 2")
            }
            configuration.hfIndicators[indicator] = isOn
        }
    }

    private mutating func readNetwork(_ fields: MessageFields) throws(MessageRefusal) {
        guard let network = try fields.optionalObject("network") else { return }
        for indicator in Indicator.allCases where !indicator.isMandatory {
            guard let value = try network.optionalNumber(indicator.name) else { continue }
            configuration.indicators[indicator] = value
        }
        configuration.networkOperator = try network.optionalText("operator")
    }

    private mutating func readNumbers(_ fields: MessageFields) throws(MessageRefusal) {
        for value in try fields.optionalList("subscriber_numbers") ?? [] {
            let own = try MessageFields("\(fields.name): \"subscriber_numbers\"", value)
            configuration.subscriberNumbers.append(
                SubscriberNumber(
                    number: try own.text("number"), type: try own.optionalNumber("type"),
                    service: try own.optionalNumber("service") ?? 4))
        }
        configuration.lastDialed = try fields.optionalText("last_dialed")
        configuration.voiceTagNumber = try fields.optionalText("voice_tag_number")
        guard let memory = try fields.optionalObject("memory") else { return }
        for key in memory.keys {
            guard let location = Int(key) else {
                throw .malformed("\(memory.name): the number of a location expected, not \"\(key)\"")
            }
            configuration.memory[location] = try memory.text(key)
        }
    }
}
