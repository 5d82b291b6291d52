package import HandsFree

/// Charge of a headset that reports it in several ways at once (docs/inside/Interop.md A15).
///
/// The latest report counts, unless it is coarser, comes from another source and agrees with the present one: a report in ten
/// levels does not replace 76 per cent by 80.
package struct HeadsetBattery: Hashable, Sendable {
    package private(set) var report: BatteryReport?

    package init() {}

    package mutating func received(_ new: BatteryReport) {
        if let report, new.source != report.source, new.levels < report.levels, Self.agree(new, report) { return }
        report = new
    }

    /// Forgets a report of this source, which the headset has withdrawn.
    package mutating func forget(_ source: BatteryReport.Source) {
        if report?.source == source { report = nil }
    }

    /// Whether two reports differ by no more than one level of the coarser one.
    private static func agree(_ coarse: BatteryReport, _ fine: BatteryReport) -> Bool {
        (coarse.percent - fine.percent).magnitude <= 100 / max(coarse.levels - 1, 1)
    }
}

extension BatteryReport.Source {
    /// Source for people who query bluetoothd (`org.bluez.BatteryProvider1.Source`).
    package var words: String {
        switch self {
        case .hfIndicator: "HFP AT+BIEV"
        case .apple: "HFP AT+IPHONEACCEV"
        case .plantronics: "HFP AT+XEVENT"
        case .csr: "HFP AT+CSRBATT"
        case .zebra: "HFP AT+ANDROID"
        }
    }
}
