import BTCallAPI
import BluetoothSockets
import BluetoothTypes
import CommandKit
import DBus
import JSONText

/// The outcomes of all checks, and their output.
struct DoctorReport: Sendable {
    let results: [(check: DoctorCheck, outcome: DoctorCheck.Outcome)]
    /// Worst first; among equals in the order of the checks.
    let findings: [DoctorFinding]

    /// Runs the checks.
    init(_ checks: [DoctorCheck], on system: DoctorSystem) {
        let results = checks.map { ($0, $0.examine(system)) }
        self.results = results.map { (check: $0.0, outcome: $0.1) }
        let all = results.flatMap { $0.0.findings(in: $0.1) }
        findings = DoctorSeverity.allCases.flatMap { severity in all.filter { $0.severity == severity } }
    }

    func count(_ severity: DoctorSeverity) -> Int { findings.filter { $0.severity == severity }.count }

    /// 1 with a fault, otherwise 0: warnings do not stop a script.
    var exitCode: Int32 { count(.fault) > 0 ? 1 : 0 }

    var summary: String {
        func text(_ count: Int, _ noun: String) -> String { "\(count) \(noun)\(count == 1 ? "" : "s")" }
        return [
            text(results.count, "check"), text(count(.fault), "fault"), text(count(.warning), "warning"),
            text(count(.note), "note"),
        ].joined(separator: ", ")
    }

    /// Lines for a person.
    ///
    /// - Parameter showsAll: whether to include passed and skipped checks.
    func lines(showsAll: Bool, in style: TerminalStyle) -> [StyledText] {
        let lines: [StyledText] = findings.flatMap { $0.lines(in: style) + [""] }
        guard showsAll else { return lines + [StyledText(summary)] }
        var table = Table("CHECK", "OUTCOME")
        for (check, outcome) in results {
            switch outcome {
            case .ok: table.add(check.id, "ok")
            case .skipped(let reason): table.add(check.id, "skipped: \(reason)")
            case .found(let evidence):
                let severity = check.findings(in: outcome).map(\.severity).min() ?? check.severity
                table.add(check.id, "\(severity.rawValue)\(evidence.count > 1 ? ", \(evidence.count) times" : "")")
            }
        }
        return lines + table.lines(in: style) + ["", StyledText(summary)]
    }

    /// The JSON object for programs.
    var json: JSON {
        let checks: [JSON] = results.map { check, outcome in
            let (word, reason): (String, String?) =
                switch outcome {
                case .ok: ("ok", nil)
                case .skipped(let reason): ("skipped", reason)
                case .found: ((check.findings(in: outcome).map(\.severity).min() ?? check.severity).rawValue, nil)
                }
            return ["id": .string(check.id), "outcome": .string(word), "reason": JSON(reason)]
        }
        return [
            "checks": .array(checks),
            "findings": .array(findings.map(\.json)),
            "faults": JSON(count(.fault)), "warnings": JSON(count(.warning)), "notes": JSON(count(.note)),
        ]
    }

    // MARK: For an issue

    /// The text for an issue: a description of the machine and the findings, without addresses and people's names.
    func issueText(on system: DoctorSystem) -> String {
        var lines = ["btcall \(ProductVersion.current), btcalld \(system.manager?.version ?? "not running")"]
        lines.append(
            "Linux \(system.kernel ?? "unknown"), bluetoothd \(system.bluetoothdVersion ?? "unknown"), "
                + (system.variable("PRETTY_NAME", in: "/etc/os-release") ?? "unknown distribution"))
        if let model = system.text("/proc/device-tree/model") { lines.append("board: \(model.filter { $0 != "\0" })") }
        for controller in system.controllers { lines.append(Self.line(controller, on: system)) }
        if system.controllers.isEmpty { lines.append("no Bluetooth controller") }
        for card in system.soundCards { lines.append("sound card \(card.number): \(card.id)") }
        let rivals = system.processesOnBus.map(\.name).filter {
            ["wireplumber", "pipewire", "pulseaudio", "ofonod", "bluealsa", "bluealsad", "ModemManager"].contains($0)
        }
        if !rivals.isEmpty { lines.append("on the bus: " + Set(rivals).sorted().joined(separator: ", ")) }
        lines.append("")
        lines += self.lines(showsAll: true, in: .plain).map(\.text)
        return Self.anonymous(lines.joined(separator: "\n"), names: system.names)
    }

    private static func line(_ controller: ControllerDetails, on system: DoctorSystem) -> String {
        var parts: [String] =
            switch controller.bus {
            case .usb: ["USB"]
            case .uart: ["UART"]
            case .other(let number): ["bus \(number)"]
            }
        if let manufacturer = controller.manufacturer { parts.append("made by company \(manufacturer)") }
        parts.append("voice packets \(controller.voicePacketBytes):\(controller.voicePackets)")
        parts.append("features " + controller.features.map { hexadecimal(UInt64($0), digits: 2).dropFirst(2) }.joined())
        if let path = system.usbAdapters.first(where: { $0.name == controller.name })?.path {
            let settings = USBDescriptors.voiceSettings(system.bytes("\(path)/../descriptors") ?? [])
            parts.append("alternate settings " + settings.sorted().map { String($0) }.joined(separator: " "))
            if let identity = system.text("\(path)/modalias") { parts.append(identity) }
        }
        return "adapter \(controller.name): " + parts.joined(separator: ", ")
    }

    /// Masks addresses, in both notations, down to the maker's part, and replaces names with `NAME`.
    static func anonymous(_ text: String, names: [String]) -> String {
        var result: [UInt8] = []
        let bytes = Array(text.utf8)
        var place = 0
        while place < bytes.count {
            if place + 17 <= bytes.count,
                BluetoothAddress(String(decoding: bytes[place..<place + 17], as: UTF8.self)) != nil
            {
                let separator = bytes[place + 2]
                result += bytes[place..<place + 8]
                for _ in 0..<3 { result += [separator, UInt8(ascii: "x"), UInt8(ascii: "x")] }
                place += 17
            } else {
                result.append(bytes[place])
                place += 1
            }
        }
        var anonymous = String(decoding: result, as: UTF8.self)
        // The longest first: one name may be part of another.
        for name in names.sorted(by: { $0.count > $1.count }) where name.count > 1 {
            // A short name may be part of a word.
            anonymous =
                name.count > 5
                ? anonymous.replacing(name, with: "NAME") : anonymous.replacing("(\(name))", with: "(NAME)")
        }
        return anonymous
    }
}

extension DoctorFinding {
    /// Lines for a person.
    func lines(in style: TerminalStyle) -> [StyledText] {
        let word =
            switch severity {
            case .fault: style.red("fault")
            case .warning: style.yellow("warning")
            case .note: style.dim("note")
            }
        let lines: [StyledText] = ["\(word): \(what) [\(check)]", "  seen: \(seen)", "  do:   \(remedy)"]
        return lines + (command.map { ["        \($0)"] } ?? [])
    }

    /// The JSON object for programs.
    var json: JSON {
        [
            "check": .string(check), "severity": .string(severity.rawValue), "what": .string(what),
            "seen": .string(seen), "remedy": .string(remedy), "command": JSON(command),
        ]
    }
}

extension DoctorSystem {
    /// Names that people gave to devices.
    fileprivate var names: [String] {
        bus.bluez.objects.values.flatMap { interfaces in
            interfaces.values.flatMap { [$0["Alias"]?.stringValue, $0["Name"]?.stringValue] }
        }.compactMap { $0 }
    }
}
