import DBus

/// Checks whether there is a Bluetooth adapter that is on.
let adapterChecks = [
    DoctorCheck(
        "adapter-missing", .fault, finds: "the kernel has no Bluetooth controller, or bluetoothd does not use it",
        remedy: "plug an adapter in; on a board, see why its driver or its firmware is not loaded",
        command: "dmesg | grep -i bluetooth"
    ) { system in
        let names = system.controllerNames
        guard !names.isEmpty else {
            let seen =
                system.exists("/sys/class/bluetooth")
                ? "/sys/class/bluetooth is empty" : "there is no /sys/class/bluetooth: the kernel has no Bluetooth"
            return .found([DoctorEvidence("there is no Bluetooth adapter", seen: seen)])
        }
        guard case .objects = system.bus.bluez else { return .ok }
        return DoctorCheck.Outcome(
            names.filter { name in !system.adapters.contains { $0.controller == name } }.map {
                DoctorEvidence(
                    "bluetoothd does not use the controller \($0)",
                    seen: "/sys/class/bluetooth/\($0) exists, /org/bluez/\($0) does not",
                    remedy:
                        "its set-up may have failed, or bluetoothd runs with --index for another one: read both logs",
                    command: "journalctl -b -u bluetooth; dmesg | grep \($0)")
            })
    },
    DoctorCheck(
        "adapter-blocked", .fault, finds: "rfkill blocks Bluetooth, by software or by a switch",
        remedy: "remove the block; for hardware use the switch or key of the machine",
        command: "rfkill unblock bluetooth"
    ) { system in
        let switches = system.entries("/sys/class/rfkill").map { "/sys/class/rfkill/\($0)" }
            .filter { system.text("\($0)/type") == "bluetooth" }
        guard !switches.isEmpty else { return .skipped("the kernel has no rfkill switch for Bluetooth") }
        return DoctorCheck.Outcome(
            switches.flatMap { path in
                let name = system.text("\(path)/name") ?? "Bluetooth"
                return ["soft", "hard"].filter { system.text("\(path)/\($0)") == "1" }.map {
                    DoctorEvidence(
                        "\(name) is blocked by \($0 == "soft" ? "software" : "a switch")", seen: "\(path)/\($0) is 1",
                        command: $0 == "soft" ? nil : "rfkill list bluetooth")
                }
            })
    },
    DoctorCheck(
        "adapter-off", .fault, finds: "an adapter is switched off",
        remedy: "switch it on; AutoEnable=true in /etc/bluetooth/main.conf does so at each start",
        command: "bluetoothctl power on"
    ) { system in
        guard !system.adapters.isEmpty else { return .skipped("bluetoothd has no adapter") }
        let off = system.adapters.filter { $0.flag("Powered") == false }
        return DoctorCheck.Outcome(
            off.map {
                DoctorEvidence(
                    "the adapter \($0.controller) is off", seen: "Powered of \($0.path) is false",
                    // Another adapter can carry the calls.
                    severity: off.count < system.adapters.count ? .note : nil)
            })
    },
    DoctorCheck(
        "adapters-several", .note, finds: "there is more than one adapter",
        remedy: "nothing, if that is wanted: a headset is reached through the adapter that it was paired with",
        command: "bluetoothctl list"
    ) { system in
        guard system.adapters.count > 1 else { return .ok }
        let names = system.adapters.map(\.controller).joined(separator: ", ")
        return .found([
            DoctorEvidence(
                "there are \(system.adapters.count) Bluetooth adapters: \(names)", seen: "objects of org.bluez")
        ])
    },
    DoctorCheck(
        "adapter-discoverable", .warning, finds: "the adapter is discoverable without a time limit",
        remedy: "switch it off after pairing; connected headsets and paired ones do not need it",
        command: "bluetoothctl discoverable off"
    ) { system in
        guard !system.adapters.isEmpty else { return .skipped("bluetoothd has no adapter") }
        return DoctorCheck.Outcome(
            system.adapters.compactMap {
                let limit = $0.properties["DiscoverableTimeout"]?.uint32Value ?? 0
                guard $0.flag("Discoverable") == true, limit == 0 else { return nil }
                return DoctorEvidence(
                    "the adapter \($0.controller) is discoverable as long as it is on",
                    seen: "Discoverable of \($0.path) is true, DiscoverableTimeout is 0")
            })
    },
    DoctorCheck(
        "adapter-class", .note,
        finds: "the adapter has no class of device, so that some headsets do not list it",
        remedy:
            "set Class = 0x6c0104 (a computer with audio and telephony) in /etc/bluetooth/main.conf",
        command: "bluetoothctl show"
    ) { system in
        let powered = system.adapters.filter { $0.flag("Powered") == true }
        guard !powered.isEmpty else { return .skipped("no adapter is on") }
        return DoctorCheck.Outcome(
            powered.compactMap {
                guard let bits = $0.properties["Class"]?.uint32Value, bits & 0x1F00 == 0 else { return nil }
                return DoctorEvidence(
                    "the adapter \($0.controller) has no class of device",
                    seen: "Class of \($0.path) is \(hexadecimal(UInt64(bits), digits: 6))")
            })
    },
]

/// Formats a number, for example `0x6c0104`.
func hexadecimal(_ number: UInt64, digits: Int) -> String {
    let text = String(number, radix: 16)
    return "0x" + String(repeating: "0", count: max(0, digits - text.count)) + text
}
