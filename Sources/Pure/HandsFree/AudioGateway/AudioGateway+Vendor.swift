import BluetoothTypes

/// Vendor commands of headsets: battery levels, power, mute, and routing preferences.
extension AudioGateway {
    mutating func respondToVendor(_ name: CommandName, _ command: ATCommand) throws(ATSyntaxError) -> Reply {
        var parameters = command.parameters
        switch (name, command.form) {
        case (.appleAccessory, .set):
            // Vendor, product and version; not always hexadecimal, and not used here (docs/inside/Interop.md A12).
            guard let identity = parameters.text() else { throw .missing }
            guard identity.split(separator: "-", omittingEmptySubsequences: false).count == 3 else { throw .text }
            let name = configuration.quirks.appleName ?? configuration.appleName
            send(.appleAccessory(name: name, features: configuration.appleFeatures))
            return .done
        case (.appleEvent, .set): return try handleAppleEvent(&parameters)
        case (.appleVoiceAssistant, .read):
            // 0: not available on this platform.
            send(.appleVoiceAssistant(0))
            return .done
        case (.appleEyesFree, .set):
            let value = try parameters.number(in: 0...2)
            try parameters.end()
            vendorSettings.eyesFree = value
            return .done
        case (.plantronicsEvent, .set): return try handlePlantronicsEvent(&parameters)
        case (.android, .test):
            guard configuration.takesAudioPolicy else { return .refuse(.notSupported) }
            send(.androidFeatures)
            return .done
        case (.android, .set): return try handleAndroid(&parameters)
        case (.csrFeatures, .set): return try exchangeCSRFeatures(&parameters)
        case (.csrIndicators, .set): return try handleCSRIndicators(parameters.rest)
        case (.csrNegotiation, .set): return try refuseCSRCodec(parameters.rest)
        case (.csrBattery, .set):
            let level = try parameters.number(in: 0...9)
            try parameters.end()
            tell(.battery(BatteryReport(.csr, ofTen: level)))
            return .done
        case (.csrPower, .set):
            let source = try parameters.number(in: 1...2)
            try parameters.end()
            tell(.powerSource(source == 1 ? .battery : .external))
            return .done
        default: return .refuse(.notSupported)
        }
    }

    // MARK: Apple

    /// Handles AT+IPHONEACCEV=count,key,value,…: key 1 is the battery from 0 to 9, key 2 whether it is docked.
    private mutating func handleAppleEvent(_ parameters: inout ATParameters) throws(ATSyntaxError) -> Reply {
        let count = try parameters.number(in: 0...16)
        var level: Int?
        var isDocked: Bool?
        for _ in 0..<count where !parameters.isAtEnd {
            let key = try parameters.number()
            let value = try parameters.number()
            switch key {
            case 1:
                guard value <= 9 else { throw .range }
                level = value
            case 2: isDocked = value != 0
            default: break
            }
        }
        if let level {
            tell(.battery(BatteryReport(.apple, ofTen: level, isCharging: isDocked)))
        } else if let isDocked {
            tell(.powerSource(isDocked ? .external : .battery))
        }
        return .done
    }

    // MARK: Plantronics

    /// Handles AT+XEVENT=BATTERY,level,levels,minutes,charging, whose short form has only the level, of ten, and
    /// AT+XEVENT=TALK,1 and TALK,0 of speaker microphones. Other events are passed on.
    private mutating func handlePlantronicsEvent(_ parameters: inout ATParameters) throws(ATSyntaxError) -> Reply {
        guard let word = parameters.text() else { throw .missing }
        guard word.utf8.first.map(Self.isLetter) == true else { throw .text }
        guard word.uppercased() == "BATTERY" else {
            tell(Self.talkKey(word, parameters) ?? .vendor(VendorReport(word, parameters)))
            return .done
        }
        let level = try parameters.number()
        guard let levels = try parameters.optionalNumber() else {
            guard level <= 9 else { throw .range }
            tell(.battery(BatteryReport(.plantronics, ofTen: level)))
            return .done
        }
        guard levels > 1, level <= levels else { throw .range }
        let minutes = try parameters.optionalNumber()
        let charging = try parameters.optionalNumber()
        tell(
            .battery(
                BatteryReport(
                    .plantronics, percent: level * 100 / (levels - 1), level: level, levels: levels,
                    isCharging: charging.map { $0 != 0 }, minutesLeft: minutes)))
        return .done
    }

    /// - Returns: nil for another event, and for TALK with anything but one 0 or 1.
    private static func talkKey(_ word: String, _ parameters: ATParameters) -> Event? {
        guard word.uppercased() == "TALK" else { return nil }
        return switch parameters.rest {
        case [UInt8(ascii: "1")]: .talkKey(true)
        case [UInt8(ascii: "0")]: .talkKey(false)
        default: nil
        }
    }

    private static func isLetter(_ byte: UInt8) -> Bool {
        (UInt8(ascii: "A")...UInt8(ascii: "Z")).contains(ATCommand.upper(byte))
    }

    // MARK: Android

    private mutating func handleAndroid(_ parameters: inout ATParameters) throws(ATSyntaxError) -> Reply {
        guard let word = parameters.text() else { throw .missing }
        switch word.uppercased() {
        case SinkAudioPolicy.word where configuration.takesAudioPolicy:
            let preferences = try parameters.numbers(limit: 3).map(SinkAudioPolicy.Preference.init(rawValue:))
            guard preferences.count == 3 else { throw .missing }
            guard let calls = preferences[0], let activation = preferences[1], let ring = preferences[2] else {
                throw .range
            }
            allowsInbandRing = ring != .notAllowed
            tell(.audioPolicy(SinkAudioPolicy(calls: calls, activation: activation, inbandRing: ring)))
            announceInbandRing()
            return .done
        case "XHSTBATSOC":
            let percent = try parameters.number(in: 0...100)
            tell(.battery(BatteryReport(.zebra, percent: percent, level: percent, levels: 101)))
            return .done
        case "XHSMICMUTE":
            tell(.microphoneMuted(try parameters.number(in: 0...1) == 1))
            return .done
        case "XHSTBATSOH", "MGNP":
            // The battery's health; buttons that the profile does not define.
            tell(.vendor(VendorReport(word, parameters)))
            return .done
        default: return .refuse(.notSupported)
        }
    }

    // MARK: CSR

    /// Handles AT+CSRSF=caller name,text,messages,battery,power,codecs,bandwidths: we accept the battery and the power, and
    /// support none of its codecs. The last two fields are optional.
    private mutating func exchangeCSRFeatures(_ parameters: inout ATParameters) throws(ATSyntaxError) -> Reply {
        let theirs = try parameters.numbers(limit: 7)
        guard theirs.count >= 5 else { throw .missing }
        send(.csrFeatures(theirs.enumerated().map { $0.element != 0 && (3...4).contains($0.offset) ? 1 : 0 }))
        return .done
    }

    /// Handles AT+CSR=0, which switches all off, and AT+CSR=(4,1),(5,0), which switches some on or off. Unlisted indicators
    /// stay off.
    private mutating func handleCSRIndicators(_ bytes: [UInt8]) throws(ATSyntaxError) -> Reply {
        guard bytes != [UInt8(ascii: "0")] else {
            vendorSettings.silencedCSR = [CSRIndicator.battery, CSRIndicator.power]
            return .done
        }
        for indicator in try CSRIndicator.list(bytes) {
            if indicator.value == 0 {
                vendorSettings.silencedCSR.insert(indicator.index)
            } else {
                vendorSettings.silencedCSR.remove(indicator.index)
            }
        }
        return .done
    }

    /// Handles AT+CSRFN=(6,codec),(7,bandwidth): CVSD is always available; everything else is refused.
    private mutating func refuseCSRCodec(_ bytes: [UInt8]) throws(ATSyntaxError) -> Reply {
        let wanted = try CSRIndicator.list(bytes)
        let isCVSD = wanted.first == CSRIndicator(index: CSRIndicator.codecs, value: 1)
        send(.csrCodec(isCVSD ? wanted : wanted.map { CSRIndicator(index: $0.index, value: 0) }))
        return isCVSD ? .done : .refuse(.notSupported)
    }
}
