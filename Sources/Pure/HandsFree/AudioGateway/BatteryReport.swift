/// Battery charge as reported by a headset.
package struct BatteryReport: Hashable, Sendable {
    /// Command that reported it; a headset that uses several may report different values (docs/inside/Interop.md A15).
    package enum Source: String, Hashable, Sendable, CaseIterable {
        /// AT+BIEV=2,…: 0…100
        case hfIndicator
        /// AT+IPHONEACCEV: 0…9
        case apple
        /// AT+XEVENT=BATTERY,…: number of levels given by the headset
        case plantronics
        /// AT+CSRBATT: 0…9
        case csr
        /// AT+ANDROID=XHSTBATSOC,…: 0…100
        case zebra
    }

    package let source: Source
    /// 0…100
    package let percent: Int
    /// Reported number, of 0…`levels` - 1.
    package let level: Int
    package let levels: Int
    /// nil: not reported.
    package let isCharging: Bool?
    /// Talk time left, in minutes; nil: not reported.
    package let minutesLeft: Int?

    /// - Parameter percent: clamped to 0…100.
    package init(
        _ source: Source, percent: Int, level: Int, levels: Int, isCharging: Bool? = nil, minutesLeft: Int? = nil
    ) {
        self.source = source
        self.percent = min(max(percent, 0), 100)
        self.level = level
        self.levels = levels
        self.isCharging = isCharging
        self.minutesLeft = minutesLeft
    }

    /// Ten levels, 0…9: a tenth each, and none means empty (docs/inside/Interop.md A13).
    package init(_ source: Source, ofTen level: Int, isCharging: Bool? = nil) {
        self.init(source, percent: (level + 1) * 10, level: level, levels: 10, isCharging: isCharging)
    }
}
