import BTCallAPI
import BluetoothTypes
import Configuration
import DBus

/// Checks whether bluetoothd runs, and whether btcalld has the profiles.
let bluetoothdChecks = [
    DoctorCheck(
        "bluetoothd-missing", .fault, finds: "bluetoothd is not on the bus",
        remedy: "start it, and have it started at boot",
        command: "systemctl enable --now bluetooth"
    ) { system in
        guard system.bus.failure == nil else { return .skipped("the bus cannot be reached") }
        switch system.bus.bluez {
        case .objects: return .ok
        case .absent:
            return .found([DoctorEvidence("bluetoothd does not run", seen: "nobody has the bus name org.bluez")])
        case .refused(let error):
            return .found([
                DoctorEvidence(
                    "bluetoothd does not answer", seen: "GetManagedObjects of org.bluez: \(error)",
                    remedy: error.hasName("org.freedesktop.DBus.Error.AccessDenied")
                        ? "the policy of the bus does not let you: be in the group bluetooth, or run this as root"
                        : "restart it",
                    command: error.hasName("org.freedesktop.DBus.Error.AccessDenied")
                        ? "sudo btcall doctor" : "systemctl restart bluetooth")
            ])
        }
    },
    DoctorCheck(
        "profile-owner", .fault,
        finds: "another program (PipeWire, PulseAudio, oFono, BlueALSA) has the Hands-Free or Headset Profile",
        remedy: "stop it, or configure it without these profiles: only one program can have them"
    ) { system in
        guard !system.adapters.isEmpty else { return .skipped("bluetoothd has no adapter") }
        let uuids = Set(system.adapters.flatMap(\.uuids))
        let isOurs = system.manager.map { $0.problems.allSatisfy { $0.id != "profile" } } ?? false
        var evidence: [DoctorEvidence] = []
        if uuids.contains(DoctorSystem.BlueZObject.handsFreeGateway), !isOurs {
            evidence += system.profileOwner("the Hands-Free Profile", "0000111f")
        } else if uuids.contains(DoctorSystem.BlueZObject.headsetGateway), system.configuration?.headsetProfile != true
        {
            // btcalld has it only if configured so.
            evidence += system.profileOwner("the Headset Profile", "00001112", severity: .warning)
        }
        return DoctorCheck.Outcome(evidence)
    },
    DoctorCheck(
        "modem-manager", .warning, finds: "ModemManager probes the serial port of the Bluetooth controller",
        remedy: "exclude the port: ENV{ID_MM_DEVICE_IGNORE}=\"1\" in a udev rule, or stop it",
        command: "systemctl disable --now ModemManager"
    ) { system in
        let ports = system.controllerNames.compactMap { name -> (String, String)? in
            // A line discipline: the controller is below the terminal.
            guard let path = system.link("/sys/class/bluetooth/\(name)") else { return nil }
            let parts = path.split(separator: "/")
            guard let place = parts.firstIndex(of: "tty"), place + 1 < parts.count else { return nil }
            return (name, "/dev/\(parts[place + 1])")
        }
        guard !ports.isEmpty else { return .skipped("no controller is on a serial port") }
        guard let modemManager = system.process(owning: "org.freedesktop.ModemManager1") else { return .ok }
        let files = modemManager.openFiles
        return DoctorCheck.Outcome(
            ports.map { name, port in
                files.contains(port)
                    ? DoctorEvidence(
                        "\(modemManager.title) has \(port) open, which \(name) is on",
                        seen: "/proc/\(modemManager.id)/fd", severity: .fault)
                    : DoctorEvidence(
                        "\(modemManager.title) runs, and \(name) is on the serial port \(port)",
                        seen: "owner of org.freedesktop.ModemManager1; /sys/class/bluetooth/\(name)")
            })
    },
]

extension DoctorSystem {
    /// One finding for each program that may have the profile: bluetoothd does not name the owner.
    fileprivate func profileOwner(
        _ profile: String, _ uuid: String, severity: DoctorSeverity? = nil
    ) -> [DoctorEvidence] {
        let seen = "bluetoothd offers \(uuid)-…, and btcalld has not registered it"
        let known = processesOnBus.compactMap { process in
            RivalProgram(process: process.name).flatMap { $0 == .btcalld ? nil : (process, $0) }
        }
        // Of PipeWire's two processes the session manager is bluetoothd's client.
        let rivals = known.filter { _, rival in rival != .pipewire || !known.contains { $0.1 == .wireplumber } }
        guard !rivals.isEmpty else {
            return [
                DoctorEvidence(
                    "a program that is not btcalld has \(profile)",
                    seen: seen + "; none of the usual ones is on the bus",
                    severity: severity, command: "busctl list")
            ]
        }
        return rivals.map { process, rival in
            DoctorEvidence(
                "\(process.title) has \(profile)", seen: seen + "; that process is on the bus", severity: severity,
                remedy: rival.profileRemedy, command: rival.command)
        }
    }
}
