import BluetoothTypes
import HandsFree

// Reports of a headset about itself, which btcalld shows and passes on.
extension HeadsetSession {
    func handle(_ report: BatteryReport) {
        charge.received(report)
        if let isCharging = report.isCharging { reports.powerSource = isCharging ? .external : .battery }
        if let minutes = report.minutesLeft {
            onEvent?(.vendor(AudioGateway.VendorReport("BATTERY", ["\(minutes)"])))
        }
    }

    func muted(_ isMuted: Bool) {
        guard reports.isMicrophoneMuted ?? false != isMuted else {
            reports.isMicrophoneMuted = isMuted
            return
        }
        reports.isMicrophoneMuted = isMuted
        onEvent?(.changed)
        onEvent?(.microphoneMuted(isMuted))
    }

    func handle(_ indicator: HFIndicator, _ value: Int) {
        switch indicator {
        case .enhancedSafety: reports.isSafetyEnhanced = value != 0
        case .batteryLevel: break
        }
    }

    /// Follows settings that come without an event.
    func followVendorSettings() {
        let old = vendorSettings
        vendorSettings = gateway.vendorSettings
        guard vendorSettings != old else { return }
        if let mode = vendorSettings.eyesFree, mode != old.eyesFree {
            onEvent?(.vendor(AudioGateway.VendorReport("APLEFM", ["\(mode)"])))
        }
        let silenced = vendorSettings.silencedCSR.subtracting(old.silencedCSR)
        if silenced.contains(CSRIndicator.battery) { charge.forget(.csr) }
        if silenced.contains(CSRIndicator.power) { reports.powerSource = nil }
        if isEstablished { onEvent?(.changed) }
    }
}
