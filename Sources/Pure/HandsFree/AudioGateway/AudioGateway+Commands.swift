import BluetoothTypes
import Telephony

/// Known commands; all others receive ERROR.
enum CommandName: String, CaseIterable, Sendable {
    case none = ""
    case answer = "A"
    case dial = "D"
    case features = "+BRSF"
    case availableCodecs = "+BAC"
    case codecConnection = "+BCC"
    case codecSelection = "+BCS"
    case indicators = "+CIND"
    case reporting = "+CMER"
    case activation = "+BIA"
    case threeWay = "+CHLD"
    case hfIndicators = "+BIND"
    case hfIndicatorValue = "+BIEV"
    case callerIdentification = "+CLIP"
    case callWaiting = "+CCWA"
    case extendedErrors = "+CMEE"
    case hangUp = "+CHUP"
    case redial = "+BLDN"
    case currentCalls = "+CLCC"
    case callDurations = "+BCDI"
    case subscriberNumber = "+CNUM"
    case networkOperator = "+COPS"
    case responseAndHold = "+BTRH"
    case tone = "+VTS"
    case speakerVolume = "+VGS"
    case microphoneVolume = "+VGM"
    case noiseReduction = "+NREC"
    case voiceRecognition = "+BVRA"
    case voiceTag = "+BINP"
    case keyPress = "+CKPD"
    case manufacturer = "+CGMI"
    case manufacturerShort = "+GMI"
    case model = "+CGMM"
    case modelShort = "+GMM"
    case revision = "+CGMR"
    case revisionShort = "+GMR"
    // Vendor commands.
    case appleAccessory = "+XAPL"
    case appleEvent = "+IPHONEACCEV"
    case appleVoiceAssistant = "+APLSIRI"
    case appleEyesFree = "+APLEFM"
    case plantronicsEvent = "+XEVENT"
    case android = "+ANDROID"
    case csrFeatures = "+CSRSF"
    case csrIndicators = "+CSR"
    case csrNegotiation = "+CSRFN"
    case csrBattery = "+CSRBATT"
    case csrPower = "+CSRPWR"
}

/// Dispatches commands by topic.
extension AudioGateway {
    mutating func respond(to line: [UInt8], at now: Instant) throws(ATSyntaxError) -> Reply {
        let command = try ATCommand(line: line)
        guard let name = CommandName(rawValue: command.name) else { return .refuse(.notSupported) }
        switch name {
        case .none: return .done
        case .features: return try respondToFeatures(command, at: now)
        case .indicators, .reporting, .activation, .hfIndicators, .hfIndicatorValue:
            return try respondAboutIndicators(name, command)
        case .availableCodecs, .codecConnection, .codecSelection, .noiseReduction, .voiceRecognition, .voiceTag:
            return try respondAboutAudio(name, command, at: now)
        case .answer, .dial, .hangUp, .redial, .threeWay, .responseAndHold, .tone:
            return try respondAboutCalls(name, command)
        case .currentCalls, .callDurations, .callerIdentification, .callWaiting, .subscriberNumber, .networkOperator,
            .extendedErrors:
            return try respondAboutNetwork(name, command, at: now)
        case .speakerVolume: return try respondAboutVolume(.speaker, command, at: now)
        case .microphoneVolume: return try respondAboutVolume(.microphone, command, at: now)
        case .keyPress:
            try checkKey(command)
            guard connection.isEstablished else { return .refuse(.notAllowed) }
            tell(.button(.callKey))
            return .done
        case .manufacturer, .manufacturerShort: return identify(configuration.manufacturer, command)
        case .model, .modelShort: return identify(configuration.model, command)
        case .revision, .revisionShort: return identify(configuration.revision, command)
        case .appleAccessory, .appleEvent, .appleVoiceAssistant, .appleEyesFree, .plantronicsEvent, .android,
            .csrFeatures, .csrIndicators, .csrNegotiation, .csrBattery, .csrPower:
            return try respondToVendor(name, command)
        }
    }

    private mutating func respondToFeatures(
        _ command: ATCommand, at now: Instant
    ) throws(ATSyntaxError) -> Reply {
        guard command.form == .set else { return .refuse(.notSupported) }
        var parameters = command.parameters
        let mask = try parameters.mask()
        try parameters.end()
        connection.heard(.features(HandsFreeFeatures(rawValue: mask)))
        afterReply = audio.support(connection.usesCodecNegotiation, at: now)
        send(.features(features))
        return .done
    }

    private mutating func identify(_ text: String, _ command: ATCommand) -> Reply {
        guard command.form == .action, command.parameters.isAtEnd else { return .refuse(.notSupported) }
        send(.information(text))
        return .done
    }

    /// Handles AT+CKPD=200: the one button of the Headset Profile.
    func checkKey(_ command: ATCommand) throws(ATSyntaxError) {
        guard command.form == .set else { throw .missing }
        var parameters = command.parameters
        guard try parameters.number() == 200 else { throw .range }
        try parameters.end()
    }

    /// Reads the 0 or 1 of a command like AT+CLIP=1.
    func flag(_ command: ATCommand) throws(ATSyntaxError) -> Bool {
        guard command.form == .set else { throw .missing }
        var parameters = command.parameters
        let value = try parameters.number(in: 0...1)
        try parameters.end()
        return value == 1
    }
}
