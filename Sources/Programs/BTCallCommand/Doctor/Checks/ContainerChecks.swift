import Glibc

/// What a container needs of the machine: docs/operate/Container.md. In the words of podman, which docker shares.
let containerChecks = [
    DoctorCheck(
        "container", .fault, finds: "this container lacks something of the machine that btcalld needs",
        remedy: "start the container with what is missing", command: "podman run --network host …"
    ) { system in
        guard system.isContainer else { return .ok }
        return DoctorCheck.Outcome(
            system.bluetoothAccess + system.busAccess + system.soundAccess + system.containerLimits
                + system.containerMounts + system.spareRights)
    }
]

extension DoctorSystem {
    /// Whether the files are those of a container: podman's and docker's mark, and that of scripts/container.
    var isContainer: Bool {
        ["/run/.containerenv", "/.dockerenv", "/usr/share/btcall/container"].contains { exists($0) }
    }

    /// Whether `/proc` numbers processes differently from the machine: the bus then names numbers that mean nothing here.
    var hasOwnProcessNumbers: Bool {
        // The kernel's number for the first namespace is fixed (PROC_PID_INIT_INO).
        guard isContainer, let namespace = link("/proc/self/ns/pid") else { return false }
        return namespace != "pid:[4026531836]"
    }

    fileprivate var bluetoothAccess: [DoctorEvidence] {
        switch bluetoothSocketError {
        case EAFNOSUPPORT where exists("/sys/class/bluetooth"):
            // Elsewhere the kernel refuses them in the same way as without Bluetooth.
            [
                DoctorEvidence(
                    "the container has a network namespace of its own, in which there are no Bluetooth sockets",
                    seen: "socket(AF_BLUETOOTH): address family not supported", remedy: "use that of the machine",
                    command: "podman run --network host …")
            ]
        case EPERM, EACCES:
            [
                DoctorEvidence(
                    "the container's filter of system calls forbids Bluetooth sockets",
                    seen: "socket(AF_BLUETOOTH): operation not permitted", remedy: "allow socket() with AF_BLUETOOTH",
                    command: "podman run --security-opt seccomp=unconfined …")
            ]
        default: []
        }
    }

    fileprivate var busAccess: [DoctorEvidence] {
        var evidence: [DoctorEvidence] = []
        let socket = "/run/dbus/system_bus_socket"
        if bus.name == "system", !exists(socket) {
            evidence.append(
                DoctorEvidence(
                    "the machine's message bus is not in the container", seen: "there is no \(socket)",
                    remedy: "share its directory", command: "podman run --volume /run/dbus:/run/dbus …"))
        } else if bus.failure == nil, bus.btcall == .absent {
            evidence.append(
                DoctorEvidence(
                    "nobody has org.btcall on the machine's bus: its policy for btcall may be missing there",
                    seen: "ListNames has no org.btcall; the machine's own files count, not the container's",
                    remedy:
                        "give the machine the policy and the user btcall with the container's number; then start btcalld",
                    command: "./host-setup"))
        }
        let numbers = (lines("/proc/self/uid_map").first ?? "").split(separator: " ").map { String($0) }
        if !numbers.isEmpty, numbers.prefix(2) != ["0", "0"] {
            evidence.append(
                DoctorEvidence(
                    "the container has user numbers of its own: the bus and sound cards take its users for others",
                    seen: "/proc/self/uid_map is \(numbers.joined(separator: " "))",
                    remedy: "start it as root, without a user namespace", command: "sudo podman run --userns host …"))
        }
        return evidence
    }

    fileprivate var soundAccess: [DoctorEvidence] {
        let controls = entries("/dev/snd").filter { $0.hasPrefix("control") }
        if soundCards.isEmpty, !controls.isEmpty {
            return [
                DoctorEvidence(
                    "the kernel's list of sound cards is hidden in the container",
                    seen: "/dev/snd has \(controls.joined(separator: ", ")), /proc/asound/cards has none",
                    severity: .warning, remedy: "show it: jacks, names of cards and who has a card depend on it",
                    command: "podman run --security-opt unmask=/proc/asound …")
            ]
        }
        guard !soundCards.isEmpty else { return [] }
        guard !controls.isEmpty else {
            return [
                DoctorEvidence(
                    "the sound cards are not in the container",
                    seen: "/proc/asound/cards has \(soundCards.map(\.id).joined(separator: ", ")), /dev/snd none",
                    remedy: "give it their devices", command: "podman run --device /dev/snd …")
            ]
        }
        let groups = Set(controls.compactMap { status("/dev/snd/\($0)")?.st_gid }).subtracting(user.groups)
        guard user.id != 0, let group = groups.min() else { return [] }
        return [
            DoctorEvidence(
                "the container's user may not open the sound cards",
                seen: "/dev/snd/\(controls[0]) is of group \(group), which this user is not in",
                remedy: "give it that group of the machine, by its number",
                command: "podman run --group-add \(group) …")
        ]
    }

    /// The process that has what the container gives; one that was started in it later (`exec`) may have less.
    private var firstProcess: DoctorProcess? { process(hasOwnProcessNumbers ? 1 : ownID) }

    fileprivate var containerLimits: [DoctorEvidence] {
        let process = firstProcess
        func isBelow(_ name: String, _ least: UInt64) -> Bool { process?.limit(name)?.isBelow(least) ?? false }
        var evidence: [DoctorEvidence] = []
        let place = "/proc/\(process?.id ?? ownID)/limits"
        if isBelow("Max realtime priority", 10) {
            evidence.append(
                DoctorEvidence(
                    "real-time priority is not permitted in the container: calls crackle under load",
                    seen: "Max realtime priority in \(place)", severity: .warning, remedy: "permit it",
                    command: "podman run --ulimit rtprio=20:20 …"))
        }
        if isBelow("Max locked memory", 64 << 20) {
            evidence.append(
                DoctorEvidence(
                    "memory cannot be locked in the container: calls stumble when memory is short",
                    seen: "Max locked memory in \(place)", severity: .warning, remedy: "permit it",
                    command: "podman run --ulimit memlock=-1:-1 …"))
        }
        return evidence
    }

    fileprivate var containerMounts: [DoctorEvidence] {
        // The fifth field is where it is mounted.
        let mounts = Set(lines("/proc/self/mountinfo").compactMap { $0.split(separator: " ").dropFirst(4).first })
        guard !mounts.isEmpty else { return [] }
        var evidence: [DoctorEvidence] = []
        if !mounts.contains("/var/lib/btcall") {
            evidence.append(
                DoctorEvidence(
                    "settings and call log end with the container", seen: "nothing is mounted on /var/lib/btcall",
                    severity: .warning, remedy: "share the state directory of the machine",
                    command: "podman run --volume /var/lib/btcall:/var/lib/btcall …"))
        }
        if !mounts.contains("/run/btcall") {
            evidence.append(
                DoctorEvidence(
                    "programs outside of the container cannot use the ALSA PCM btcall",
                    seen: "nothing is mounted on /run/btcall", severity: .note,
                    remedy: "share its directory, if there are such programs",
                    command: "podman run --volume /run/btcall:/run/btcall …"))
        }
        return evidence
    }

    fileprivate var spareRights: [DoctorEvidence] {
        guard let capabilities = firstProcess?.boundingCapabilities, capabilities != 0 else { return [] }
        return [
            DoctorEvidence(
                "the container may have capabilities, and btcalld needs none",
                seen: "CapBnd in /proc/self/status is not 0", severity: .note, remedy: "take them away",
                command: "podman run --cap-drop all --security-opt no-new-privileges …")
        ]
    }
}
