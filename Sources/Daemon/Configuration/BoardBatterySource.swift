/// Source of the board's battery level that headsets show (`[bluetooth] boardBattery`).
package enum BoardBatterySource: String, Sendable, CaseIterable {
    /// UPower, unless a program sets another value.
    case upower
    /// Only values that a program sets.
    case property
    /// The board has no battery.
    case none
}
