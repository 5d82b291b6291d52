import BluetoothSockets

/// Checks limits, groups, and radio interference.
let systemChecks = [
    DoctorCheck(
        "realtime-limit", .warning,
        finds: "btcalld may not run its audio thread with real-time priority: calls crackle under load",
        remedy: "LimitRTPRIO=20 in the unit, or rtprio 20 for its user in /etc/security/limits.d",
        command: "systemctl show btcalld -p LimitRTPRIO"
    ) { system in
        guard let daemon = system.daemon else { return .skipped("btcalld does not run, or its process is hidden") }
        let name = "Max realtime priority"
        // CAP_SYS_NICE needs no limit.
        guard let limit = daemon.limit(name), limit.isBelow(10), !daemon.hasCapability(23) else { return .ok }
        return .found([
            DoctorEvidence(
                "\(daemon.title) may not have real-time priority",
                seen: "\(name) in /proc/\(daemon.id)/limits: \(limit.text)")
        ])
    },
    DoctorCheck(
        "memory-lock", .warning,
        finds: "btcalld may not keep its memory from being paged out: calls stumble when memory is short",
        remedy: "LimitMEMLOCK=infinity in the unit", command: "systemctl show btcalld -p LimitMEMLOCK"
    ) { system in
        guard let daemon = system.daemon else { return .skipped("btcalld does not run, or its process is hidden") }
        let name = "Max locked memory"
        // CAP_IPC_LOCK needs no limit.
        guard let limit = daemon.limit(name), limit.isBelow(64 << 20), !daemon.hasCapability(14) else { return .ok }
        return .found([
            DoctorEvidence(
                "\(daemon.title) may lock less than 64 MiB of memory",
                seen: "\(name) in /proc/\(daemon.id)/limits: \(limit.text) bytes")
        ])
    },
    DoctorCheck(
        "daemon-groups", .fault, finds: "btcalld's process is not in the group audio: it cannot open sound cards",
        remedy: "SupplementaryGroups=audio bluetooth in the unit, or make its user a member",
        command: "usermod -aG audio btcall"
    ) { system in
        guard let daemon = system.daemon, let user = daemon.user else {
            return .skipped("btcalld does not run, or its process is hidden")
        }
        guard user != 0 else { return .ok }
        guard let audio = system.group("audio") else { return .skipped("there is no group audio") }
        guard !daemon.groups.contains(audio) else { return .ok }
        return .found([
            DoctorEvidence(
                "\(daemon.title) is not in the group audio", seen: "Groups in /proc/\(daemon.id)/status has no \(audio)"
            )
        ])
    },
    DoctorCheck(
        "user-group", .note, finds: "you are not in the group btcall: you may look, and change nothing",
        remedy: "become a member and log in again, or run btcall as root", command: "usermod -aG btcall $USER"
    ) { system in
        guard system.user.id != 0 else { return .ok }
        guard let group = system.group("btcall") else {
            return .found([
                DoctorEvidence(
                    "there is no group btcall", seen: "/etc/group", severity: .warning,
                    remedy: "make it: only root can use btcall otherwise", command: "groupadd -r btcall")
            ])
        }
        guard !system.user.groups.contains(group) else { return .ok }
        return .found([DoctorEvidence("you are not in the group btcall", seen: "your groups have no \(group)")])
    },
    DoctorCheck(
        "wifi-coexistence", .warning,
        finds: "Wi-Fi on 2.4 GHz shares the chip or the band with Bluetooth: voice is lost while Wi-Fi is busy",
        remedy: "move the network to 5 GHz; put the antennas apart", command: "iw dev"
    ) { system in
        // Two lines of headings, then "wlan0: 0000 54. …".
        let interfaces = system.lines("/proc/net/wireless").dropFirst(2).compactMap { line in
            line.split(separator: ":").first.map { $0.filter { $0 != " " } }
        }
        guard !interfaces.isEmpty else { return .skipped("no wireless network is in use") }
        guard !system.controllers.isEmpty else { return .skipped("the kernel describes no controller") }
        return DoctorCheck.Outcome(
            interfaces.compactMap { interface in
                guard let frequency = system.frequencies[interface], (2400...2500).contains(frequency) else {
                    return nil
                }
                let driver = system.linkName("/sys/class/net/\(interface)/device/driver")
                let isOneChip = system.controllers.contains { controller in
                    guard let driver, let maker = controller.manufacturer else { return false }
                    return wirelessMakers.contains { driver.hasPrefix($0.driver) && $0.makers.contains(maker) }
                }
                let chip = driver.map { ", driver \($0)" } ?? ""
                return DoctorEvidence(
                    isOneChip
                        ? "\(interface) uses 2.4 GHz on the chip that Bluetooth is on" : "\(interface) uses 2.4 GHz",
                    seen: "\(interface) is on \(frequency) MHz (SIOCGIWFREQ)\(chip)", severity: isOneChip ? nil : .note)
            })
    },
]

/// Wireless drivers, and the company numbers of the Bluetooth part of such chips.
private let wirelessMakers: [(driver: String, makers: Set<Int>)] = [
    ("brcmfmac", [15, 305]), ("iwl", [2]), ("rtw", [93]), ("rtl", [93]), ("r8", [93]), ("mt7", [70]),
    ("mwifiex", [72, 37]),
    ("wl18", [13]), ("wlcore", [13]), ("ath", [29, 69]),
]

extension DoctorProcess.Limit {
    fileprivate var text: String {
        switch self {
        case .unlimited: "unlimited"
        case .value(let value): String(value)
        }
    }
}
