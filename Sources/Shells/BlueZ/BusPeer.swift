/// Another program on the bus that is known to register hands-free profiles with bluetoothd.
package struct BusPeer: Equatable, Sendable {
    /// `:1.42`
    package let uniqueName: String
    package let processID: UInt32?
    /// The kernel's name of the process, at most 15 bytes; empty if it may not be read.
    package let processName: String
    /// The systemd unit; empty if it has none.
    package let unit: String
    package let program: Program

    /// What to do about it, as the end of a sentence.
    package var remedy: String { program.remedy }

    /// The programs that are known to do so.
    package enum Program: String, Equatable, Sendable, CaseIterable {
        case pulseaudio, wireplumber, pipewire, bluealsa, ofonod, hsphfpd, btcalld

        /// - Parameter process: the name of a process, possibly cut off after 15 bytes.
        init?(process: String) {
            switch process {
            case "pulseaudio": self = .pulseaudio
            case "wireplumber": self = .wireplumber
            case "pipewire", "pipewire-media-": self = .pipewire
            case "bluealsa", "bluealsad": self = .bluealsa
            case "ofonod": self = .ofonod
            case "hsphfpd", "hsphfpd.pl": self = .hsphfpd
            case "btcalld": self = .btcalld
            default: return nil
            }
        }

        /// - Parameter name: a well-known bus name.
        init?(busName name: String) {
            switch name {
            case "org.pulseaudio.Server": self = .pulseaudio
            case "org.ofono": self = .ofonod
            case "org.hsphfpd": self = .hsphfpd
            case "org.bluealsa": self = .bluealsa
            case "org.btcall": self = .btcalld
            default:
                guard name.hasPrefix("org.bluealsa.") else { return nil }
                self = .bluealsa
            }
        }

        var remedy: String {
            switch self {
            case .pulseaudio: "remove module-bluetooth-discover from its default.pa or system.pa, or stop it"
            case .wireplumber: "set bluez5.hfphsp-backend = \"none\" in its Bluetooth monitor's properties, or stop it"
            case .pipewire: "set bluez5.hfphsp-backend to none in its media session's Bluetooth settings, or stop it"
            case .bluealsa: "start it without `-p hfp-ag`, or stop it"
            case .ofonod: "start it with `--noplugin=hfp_ag_bluez5`, or stop it"
            case .hsphfpd: "stop it"
            case .btcalld: "another btcalld runs on this bus: stop one of the two"
            }
        }
    }
}

extension BusPeer: CustomStringConvertible {
    /// `pulseaudio (:1.42, process 1234, unit pulseaudio.service)`
    package var description: String {
        var details = [uniqueName]
        if let processID { details.append("process \(processID)") }
        if !unit.isEmpty { details.append("unit \(unit)") }
        let name = processName.isEmpty ? program.rawValue : processName
        return "\(name) (\(details.joined(separator: ", ")))"
    }
}
