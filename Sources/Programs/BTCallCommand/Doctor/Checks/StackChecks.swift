import BluetoothTypes
import Configuration

/// The check for known faults of the programs below btcalld, which stack.conf lists.
let stackChecks = [
    DoctorCheck(
        "stack", .warning, finds: "this version of the kernel or of bluetoothd has a known fault with headsets",
        remedy: "update the kernel, or the package bluez", command: "uname -r; bluetoothctl --version"
    ) { system in
        var database = StackDatabase()
        var evidence: [DoctorEvidence] = []
        guard system.exists(StackDatabase.shippedFile) else {
            return .skipped("there is no \(StackDatabase.shippedFile)")
        }
        for file in [StackDatabase.shippedFile, StackDatabase.adminFile] {
            do throws(ConfigurationError) {
                guard let rows = try StackDatabase.load(system.root + file) else { continue }
                database = database.overlaid(by: rows)
            } catch {
                let text = system.root.isEmpty ? "\(error)" : "\(error)".replacing(system.root, with: "")
                evidence.append(
                    DoctorEvidence(
                        "the list of known faults has a mistake", seen: text, remedy: "correct the line",
                        command: "btcalld --check \(file)"))
            }
        }
        if let kernel = system.runningKernel {
            let place = "/proc/sys/kernel/osrelease"
            evidence += database.faults(of: .kernel, in: kernel.subject, packaged: { kernel.packaged }).map {
                DoctorEvidence(
                    $0, "Linux \(kernel.title)", seen: place, remedy: "update the kernel", command: "uname -r")
            }
        }
        if let version = system.bluetoothdVersion {
            let subject = StackFault.Subject(release: version, distribution: system.distribution)
            evidence += database.faults(of: .bluetoothd, in: subject, packaged: { system.packageVersion("bluez") }).map
            {
                DoctorEvidence(
                    $0, "bluetoothd \(version)", seen: "bluetoothd --version", remedy: "update the package bluez",
                    command: "bluetoothctl --version")
            }
        }
        return DoctorCheck.Outcome(evidence)
    }
]

extension DoctorEvidence {
    /// - Parameters:
    ///   - title: name and version of the program.
    ///   - remedy: where the row has none.
    fileprivate init(_ fault: StackFault, _ title: String, seen: String, remedy: String, command: String) {
        self.init(
            "\(title) \(fault.symptom)", seen: "\(seen); \(fault.reference)",
            severity: fault.severity == .note ? .note : nil, remedy: fault.remedy ?? remedy,
            command: fault.command ?? command)
    }
}

extension DoctorSystem {
    /// ID of the distribution, for example `debian`.
    var distribution: String? { variable("ID", in: "/etc/os-release") }

    /// Version of a distribution's package, from dpkg or rpm; nil when neither knows it.
    func packageVersion(_ name: String) -> PackageVersion? {
        for (program, arguments) in [
            ("/usr/bin/dpkg-query", ["-W", "-f", "${Version}", name]),
            ("/usr/bin/rpm", ["-q", "--qf", "%{VERSION}-%{RELEASE}", name]),
        ] where exists(program) {
            if let version = output(program, arguments).flatMap({ PackageVersion($0) }) { return version }
        }
        return nil
    }

    /// The running kernel as stack.conf describes it.
    fileprivate struct RunningKernel {
        let subject: StackFault.Subject
        /// Version of the distribution's package, where the kernel names it.
        let packaged: PackageVersion?
        /// Its name, and the release that it was made from where the name does not say it.
        let title: String
    }

    fileprivate var runningKernel: RunningKernel? {
        guard let release = kernel else { return nil }
        // "… #1 SMP PREEMPT_DYNAMIC Debian 6.1.176-1 (2026-05-02)"
        let words = (text("/proc/version") ?? "").split(separator: " ").map { String($0) }
        let place = words.lastIndex(of: "Debian").map { $0 + 1 }
        let packaged = place.flatMap { $0 < words.count ? PackageVersion(words[$0]) : nil }
        // "Ubuntu 6.8.0-31.31-generic 6.8.1"
        let signature = text("/proc/version_signature")?.split(separator: " ").last.map { String($0) }
        let upstream = packaged?.upstream ?? signature
        let isNamed = upstream.map { release.hasPrefix($0) } ?? true
        return RunningKernel(
            subject: StackFault.Subject(
                release: release, upstream: upstream, distribution: distribution,
                alternateSettings: Set(usbAdapters.compactMap { alternateSettingOfMSBC($0.path) })),
            packaged: packaged, title: isNamed ? release : "\(release) (\(upstream ?? ""))")
    }

    /// The alternate setting that btusb uses for mSBC, as in `QuirkSubject.Controller`; nil without settings for voice.
    private func alternateSettingOfMSBC(_ path: String) -> Int? {
        let settings = USBDescriptors.voiceSettings(bytes("\(path)/../descriptors") ?? [])
        guard !settings.isEmpty else { return nil }
        if settings.contains(6) { return 6 }
        let isRealtek = text("\(path)/modalias")?.lowercased().hasPrefix("usb:v0bda") == true
        return isRealtek && settings.contains(3) ? 3 : 1
    }
}
