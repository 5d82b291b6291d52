/// A program that is known to register hands-free profiles or A2DP with bluetoothd, and how to make it release them: the
/// texts of btcalld and of `btcall doctor`, which docs/questions/PipeWire.md repeats.
package enum RivalProgram: String, Equatable, Sendable, CaseIterable {
    case pulseaudio, wireplumber, pipewire, bluealsa, ofonod, hsphfpd, cras, btcalld

    /// - Parameter process: the name of a process, possibly cut off after 15 bytes.
    package init?(process: String) {
        switch process {
        case "pulseaudio": self = .pulseaudio
        case "wireplumber": self = .wireplumber
        case "pipewire", "pipewire-media-": self = .pipewire
        case "bluealsa", "bluealsad": self = .bluealsa
        case "ofonod": self = .ofonod
        case "hsphfpd", "hsphfpd.pl": self = .hsphfpd
        case "cras": self = .cras
        case "btcalld": self = .btcalld
        default: return nil
        }
    }

    /// - Parameter name: a well-known bus name.
    package init?(busName name: String) {
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

    /// How to make it release the Hands-Free Profile, as the end of a sentence.
    package var profileRemedy: String {
        switch self {
        case .wireplumber, .pipewire: Self.wirePlumber(WirePlumberLine.handsFreeOff)
        case .pulseaudio:
            "load module-bluetooth-discover with `headset=ofono` in its default.pa or system.pa, or stop it"
        case .bluealsa: "start it with `-p a2dp-source` alone, without `hfp-ag` and `hsp-ag`, or stop it"
        case .ofonod: "start it with `--noplugin=hfp_ag_bluez5`, or stop it"
        case .hsphfpd, .cras: "stop it"
        case .btcalld: "another btcalld runs on this bus: stop one of the two"
        }
    }

    /// How to make it release the A2DP of headsets, as the end of a sentence.
    package var mediaRemedy: String {
        switch self {
        case .wireplumber, .pipewire: Self.wirePlumber(WirePlumberLine.bluetoothOff)
        case .pulseaudio: "remove module-bluetooth-discover from its default.pa or system.pa, or stop it"
        case .bluealsa: "start it without `-p a2dp-source`, or stop it"
        case .ofonod, .hsphfpd, .cras: "stop it"
        case .btcalld: "another btcalld runs on this bus: stop one of the two"
        }
    }

    /// The command that stops it for good, or opens its settings; nil for btcalld.
    package var command: String? {
        switch self {
        case .wireplumber, .pipewire: "systemctl --user disable --now wireplumber pipewire.socket pipewire"
        case .pulseaudio: "systemctl --user disable --now pulseaudio.socket pulseaudio.service"
        case .bluealsa: "systemctl edit bluealsa"
        case .ofonod: "systemctl disable --now ofono"
        case .hsphfpd: "systemctl disable --now hsphfpd"
        case .cras: "stop cras"
        case .btcalld: nil
        }
    }

    private static func wirePlumber(_ line: WirePlumberLine) -> String {
        """
        write `\(line.version05)` into \(WirePlumberLine.file05) (WirePlumber 0.4: `\(line.version04)` into \
        \(WirePlumberLine.file04)) and run `\(WirePlumberLine.restart)`, or stop it
        """
    }
}

/// A line of WirePlumber's configuration, in the forms of 0.5 (Debian 13) and 0.4 (Debian 12).
package struct WirePlumberLine: Sendable {
    package let version05: String
    package let version04: String

    package static let file05 = "/etc/wireplumber/wireplumber.conf.d/51-btcall.conf"
    package static let file04 = "/etc/wireplumber/bluetooth.lua.d/51-btcall.lua"
    /// As the user who runs WirePlumber.
    package static let restart = "systemctl --user restart wireplumber"

    /// Calls go to btcalld, music stays with PipeWire.
    package static let handsFreeOff = WirePlumberLine(
        version05: "monitor.bluez.properties = { bluez5.hfphsp-backend = \"none\" }",
        version04: "bluez_monitor.properties[\"bluez5.hfphsp-backend\"] = \"none\"")
    /// The same by roles.
    package static let musicOnly = WirePlumberLine(
        version05: "monitor.bluez.properties = { bluez5.roles = [ a2dp_sink a2dp_source ] }",
        version04: "bluez_monitor.properties[\"bluez5.headset-roles\"] = \"[ ]\"")
    /// Headsets belong to btcalld, calls and music.
    package static let bluetoothOff = WirePlumberLine(
        version05: "wireplumber.profiles = { main = { monitor.bluez = disabled } }",
        version04: "bluez_monitor.enabled = false")
}
