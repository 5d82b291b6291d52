/// Where the battery comes from that headsets show as ours (`[battery] source`).
package enum BoardBatterySource: String, Sendable, CaseIterable {
    /// UPower, unless a program says something else.
    case upower
    /// Only what a program says.
    case property
    /// There is no battery.
    case none
}
