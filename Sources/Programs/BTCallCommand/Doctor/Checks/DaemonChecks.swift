import BTCallAPI
import Configuration
import DBus
import Glibc

/// Checks whether btcalld runs, and has the access that it needs.
let daemonChecks = [
    DoctorCheck(
        "bus-unreachable", .fault, finds: "the message bus does not answer",
        remedy: "start dbus, or name another bus with --bus",
        command: "systemctl start dbus"
    ) { system in
        guard let failure = system.bus.failure else { return .ok }
        return .found([DoctorEvidence("the bus (\(system.bus.name)) cannot be reached", seen: failure)])
    },
    DoctorCheck(
        "btcalld-missing", .fault, finds: "btcalld is not on the bus", remedy: "start it, and find out why it ended",
        command: "systemctl start btcalld; journalctl -u btcalld -n 20"
    ) { system in
        guard system.bus.failure == nil else { return .skipped("the bus cannot be reached") }
        guard case .absent = system.bus.btcall else { return .ok }
        return .found([DoctorEvidence("btcalld does not run", seen: "nobody has the bus name org.btcall")])
    },
    DoctorCheck(
        "btcalld-access", .fault, finds: "btcalld does not answer, or the bus denies you access to it",
        remedy: "be root or a member of the group btcall, and have the policy in place",
        command: "usermod -aG btcall USER"
    ) { system in
        guard case .refused(let error) = system.bus.btcall else {
            return system.bus.btcall == .absent ? .skipped("btcalld does not run") : .ok
        }
        return .found([
            DoctorEvidence(
                "btcalld cannot be reached", seen: "GetManagedObjects of org.btcall: \(error)",
                remedy: error.hasName("org.freedesktop.DBus.Error.NoReply")
                    ? "it hangs: restart it and report this" : nil,
                command: error.hasName("org.freedesktop.DBus.Error.NoReply") ? "systemctl restart btcalld" : nil)
        ])
    },
    DoctorCheck(
        "btcalld-activation", .warning,
        finds: "btcalld does not run, and the bus cannot start it on demand",
        remedy: "install btcall again: it contains the activation file and the unit",
        command: "ls /usr/share/dbus-1/system-services/org.btcall.service"
    ) { system in
        guard system.bus.failure == nil else { return .skipped("the bus cannot be reached") }
        guard system.bus.btcall == .absent else { return .ok }
        guard !system.bus.activatable.contains(BTCallName.bus) else { return .ok }
        return .found([
            DoctorEvidence("the bus does not know how to start btcalld", seen: "ListActivatableNames has no org.btcall")
        ])
    },
    DoctorCheck(
        "btcalld-version", .warning, finds: "btcalld and btcall are of different versions",
        remedy: "restart btcalld after an update", command: "systemctl restart btcalld"
    ) { system in
        guard let manager = system.manager else { return .skipped("btcalld does not run") }
        guard manager.version != ProductVersion.current else { return .ok }
        return .found([
            DoctorEvidence(
                "btcalld is version \(manager.version), btcall \(ProductVersion.current)",
                seen: "Version of org.btcall.Manager1")
        ])
    },
    DoctorCheck(
        "btcalld-problems", .fault, finds: "btcalld itself reports a problem", remedy: "see the problem",
        command: "btcall status"
    ) { system in
        guard let manager = system.manager else { return .skipped("btcalld does not run") }
        // Problems with a check of their own are described there.
        let known: Set = ["bluetoothd", "adapter", "profile"]
        // Problems because of which nobody hears a call.
        let silent: Set = ["noDevice", "callAudio"]
        return DoctorCheck.Outcome(
            manager.problems.filter { !known.contains($0.id) }.map {
                DoctorEvidence(
                    $0.what, seen: "problem \($0.id) of btcalld", severity: silent.contains($0.id) ? .fault : .warning,
                    remedy: $0.remedy)
            })
    },
    DoctorCheck(
        "dbus-policy", .fault,
        finds: "the policy of the bus for btcalld is missing: nobody may own org.btcall, or talk to it",
        remedy: "install btcall again: it contains the policy; then reload the bus",
        command: "apt-get install --reinstall btcall && systemctl reload dbus"
    ) { system in
        guard system.bus.name == "system" else { return .skipped("this is not the system's bus") }
        guard !system.isContainer else { return .skipped("this is a container: the machine's own policy counts") }
        let places = ["/usr/share/dbus-1/system.d/org.btcall.conf", "/etc/dbus-1/system.d/org.btcall.conf"]
        let there = places.filter { system.exists($0) }
        guard let last = there.last else {
            return .found([
                DoctorEvidence(
                    "the bus has no policy for org.btcall", seen: "neither \(places[0]) nor \(places[1]) exists")
            ])
        }
        // The later file takes precedence.
        guard system.text(last)?.contains("own=\"org.btcall\"") == true else {
            return .found([
                DoctorEvidence("the policy of the bus lets nobody own org.btcall", seen: "\(last) has no such line")
            ])
        }
        return .ok
    },
    DoctorCheck(
        "configuration", .fault, finds: "the configuration of btcalld is invalid",
        remedy: "correct the line; btcalld does not start otherwise",
        command: "btcalld --check /etc/btcall/btcalld.conf"
    ) { system in
        let file = system.configurationFile
        guard system.exists(file) else { return .skipped("there is no \(file): every key has its default") }
        do throws(ConfigurationError) {
            _ = try ConfigurationCheck.check(system.root + file)
            return .ok
        } catch {
            let text = system.root.isEmpty ? "\(error)" : "\(error)".replacing(system.root, with: "")
            return .found([
                DoctorEvidence(
                    "btcalld's configuration has a mistake", seen: text, command: "btcalld --check \(file)")
            ])
        }
    },
    DoctorCheck(
        "state-directory", .fault, finds: "btcalld cannot write to its state directory, or the disk is full",
        remedy: "give it to the daemon's user (StateDirectory=btcall in the unit does), or make room",
        command: "chown btcall: /var/lib/btcall; df -h /var/lib/btcall"
    ) { system in
        let configuration = system.configuration ?? Configuration()
        guard let path = configuration.stateDirectory else { return .skipped("[daemon] stateDirectory is none") }
        guard let status = system.status(path) else {
            return .found([
                DoctorEvidence(
                    "the state directory does not exist", seen: "there is no \(path)", severity: .warning,
                    command: "install -d -o btcall -g btcall \(path)")
            ])
        }
        var evidence: [DoctorEvidence] = []
        if let space = system.space(path) {
            if space.isReadOnly {
                evidence.append(
                    DoctorEvidence("the state directory is on a read-only file system", seen: "statvfs of \(path)"))
            } else if space.freeBytes < 1 << 20 {
                evidence.append(
                    DoctorEvidence(
                        "the file system of the state directory is full",
                        seen: "\(space.freeBytes / 1024) KiB are free for \(path)"))
            }
        }
        if let daemon = system.daemon, let user = daemon.user, user != 0 {
            let bit: UInt32 =
                user == status.st_uid ? 0o200 : daemon.groups.contains(status.st_gid) ? 0o020 : 0o002
            if status.st_mode & bit == 0 {
                let mode = String(status.st_mode & 0o7777, radix: 8)
                evidence.append(
                    DoctorEvidence(
                        "btcalld may not write to its state directory",
                        seen: "\(path) belongs to user \(status.st_uid) with mode \(mode), btcalld is user \(user)"))
            }
        }
        return DoctorCheck.Outcome(evidence)
    },
]
