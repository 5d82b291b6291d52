/// Commands outside the profile that headsets send: battery levels and buttons.
extension AudioGateway {
    mutating func respondToVendor(_ name: CommandName, _ command: ATCommand) throws(ATSyntaxError) -> Reply {
        guard command.form == .set else { return .refuse(.notSupported) }
        var parameters = command.parameters
        switch name {
        case .appleAccessory:
            // Vendor, product and version; not always in hexadecimal, and nothing here depends on it (INTEROP.md A12).
            guard parameters.text() != nil else { throw .missing }
            send(.appleAccessory(name: configuration.appleName, features: configuration.appleFeatures))
            return .done
        case .appleEvent: return try takeAppleEvent(&parameters)
        case .plantronicsEvent: return try takePlantronicsEvent(&parameters)
        case .keyPress:
            guard try parameters.number() == 200 else { throw .malformed }
            tell(.button(.callKey))
            return .done
        default: return .refuse(.notSupported)
        }
    }

    /// AT+IPHONEACCEV=count,key,value,…: key 1 is the battery from 0 to 9, key 2 whether it is docked.
    private mutating func takeAppleEvent(_ parameters: inout ATParameters) throws(ATSyntaxError) -> Reply {
        let count = try parameters.number(in: 0...16)
        for _ in 0..<count where !parameters.isAtEnd {
            let key = try parameters.number()
            let value = try parameters.number()
            if key == 1 {
                guard value <= 9 else { throw .malformed }
                tell(.battery(percent: (value + 1) * 10, .apple))
            }
        }
        return .done
    }

    /// AT+XEVENT=BATTERY,level,levels,minutes,charging; the short form has the level alone, of ten. Other events are
    /// passed on by their word.
    private mutating func takePlantronicsEvent(_ parameters: inout ATParameters) throws(ATSyntaxError) -> Reply {
        guard let word = parameters.text() else { throw .missing }
        guard word.uppercased() == "BATTERY" else {
            tell(.vendor(ATText.word(word)))
            return .done
        }
        let level = try parameters.number()
        if let levels = try parameters.optionalNumber() {
            guard levels > 1, level <= levels else { throw .malformed }
            tell(.battery(percent: min(level * 100 / (levels - 1), 100), .plantronics))
        } else {
            guard level <= 9 else { throw .malformed }
            tell(.battery(percent: (level + 1) * 10, .plantronics))
        }
        return .done
    }
}
