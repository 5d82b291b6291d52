import BTCall
import CommandKit
import JSONText

/// Whether sound goes both ways, and the obstacles if it does not.
struct CallVerdict: Sendable {
    /// Packet loss in per cent above which it is audible.
    static let tolerableLoss = 1.0

    let outcome: CallOutcome
    /// Worst first.
    let findings: [DoctorFinding]

    /// - Parameter others: findings about the machine.
    init(_ outcome: CallOutcome, others: [DoctorFinding] = []) {
        self.outcome = outcome
        let all = Self.findings(outcome) + others
        findings = DoctorSeverity.allCases.flatMap { severity in all.filter { $0.severity == severity } }
    }

    var isSound: Bool { findings.allSatisfy { $0.severity != .fault } }
    var exitCode: Int32 { isSound ? 0 : 1 }

    var measured: CallMeasurement? {
        guard case .measured(let call) = outcome else { return nil }
        return call
    }

    /// One-line summary.
    var summary: String {
        guard let call = measured else { return "no call was made" }
        guard isSound else { return "sound does not go both ways" }
        guard let delay = call.delay else { return "sound goes both ways, as far as this machine can hear" }
        return "sound goes both ways: the chirps came back after \(delay.tenths) ms"
    }

    private static func findings(_ outcome: CallOutcome) -> [DoctorFinding] {
        switch outcome {
        case .noDaemon(let message):
            [CallCheck.daemon.finding("btcalld does not run", seen: message)]
        case .busy(let calls):
            [CallCheck.busy.finding("another call is up", seen: calls.joined(separator: "; "))]
        case .unavailable(let device, let message):
            [CallCheck.device.finding("\(device) cannot carry a call now", seen: message)]
        case .refused(let message):
            [CallCheck.refused.finding("the call could not be made", seen: message)]
        case .measured(let call):
            findings(call)
        }
    }

    private static func findings(_ call: CallMeasurement) -> [DoctorFinding] {
        var findings: [DoctorFinding] = []
        if let finding = route(call) { findings.append(finding) }
        guard let link = call.link, findings.allSatisfy({ $0.severity != .fault }) else { return findings }
        let packets = "\(call.packets) packets, \(call.blocksReceived) blocks of 10 ms"
        if call.blocksReceived == 0 || call.blocksSent == 0 || link.codec != nil && call.packets == 0 {
            let isHeadset = link.codec != nil
            return findings + [
                CallCheck.received.finding(
                    "no audio arrives from \(link.device)", seen: "received in the call: \(packets)",
                    remedy: isHeadset ? nil : "see what btcalld says of its sound card",
                    command: isHeadset ? nil : "journalctl -u btcalld -n 50")
            ]
        }
        if let finding = microphone(call, of: link, seen: packets) { findings.append(finding) }
        if call.lossPercent > tolerableLoss {
            findings.append(
                CallCheck.losses.finding(
                    "\(link.device) loses \(call.lossPercent.tenths) % of what it sends",
                    seen: "\(call.lost) of \(call.packets + call.lost) packets lost"))
        }
        if call.delay == nil, call.microphone.level != nil {
            findings.append(
                CallCheck.chirp.finding(
                    "nobody heard the chirps: normal for a headset that is worn",
                    seen: "none of \(call.chirps) chirps in what the microphone gave"))
        }
        return findings
    }

    /// The finding about a call that was not on the expected device.
    private static func route(_ call: CallMeasurement) -> DoctorFinding? {
        guard !call.isCarried else { return nil }
        // A stand-in carries sound, too; but a device named on the command line must carry it itself.
        let severity: DoctorSeverity? = call.link != nil && call.wanted == .none ? .warning : nil
        let carrier = call.link.map { "\($0.device) carried the call" } ?? "nothing carried the call"
        let seen = [carrier, call.why].compactMap { $0 }.joined(separator: "; ")
        if call.expected == .none {
            return CallCheck.device.finding("there is no device for calls", seen: seen)
        } else if call.hasCarried {
            return CallCheck.device.finding(
                "\(call.expected) did not keep the call to its end", seen: seen, severity: severity)
        } else if call.expected.isHeadset, call.wasTried {
            return CallCheck.link.finding(
                "the voice link of \(call.expected) did not open", seen: seen, severity: severity)
        }
        return CallCheck.device.finding("\(call.expected) did not carry the call", seen: seen, severity: severity)
    }

    private static func microphone(_ call: CallMeasurement, of link: CallLink, seen: String) -> DoctorFinding? {
        if call.isMuted {
            return CallCheck.microphone.finding(
                "the microphone is muted", seen: "Muted of btcalld", remedy: "unmute it, and try again",
                command: "btcall mute off")
        }
        guard call.microphone.level == nil else { return nil }
        return CallCheck.microphone.finding(
            "the microphone of \(link.device) is digitally silent", seen: "\(seen), and every sample is zero")
    }
}

// MARK: Output

extension CallVerdict {
    /// Lines for a person.
    func lines(in style: TerminalStyle) -> [StyledText] {
        var lines: [StyledText] = findings.flatMap { $0.lines(in: style) + [""] }
        if let call = measured { lines += Self.facts(call).lines(in: style) + [""] }
        lines.append(isSound ? style.green(summary) : style.red(summary))
        return lines
    }

    private static func facts(_ call: CallMeasurement) -> Facts {
        var facts = Facts()
        guard let link = call.link else {
            facts.add("Device", "none")
            return facts
        }
        let parts = [call.name.map { "\(link.device) (\($0))" } ?? link.device.description, link.codec]
        facts.add("Device", parts.compactMap { $0 }.joined(separator: ", "))
        let losses = "\(call.packets) packets, \(call.lost) lost (\(call.lossPercent.tenths) %); "
        facts.add("Received", (link.codec == nil ? "" : losses) + "\(call.blocksReceived) blocks of 10 ms")
        facts.add("Sent", "\(call.blocksSent) blocks of 10 ms")
        let level = call.microphone
        facts.add(
            "Microphone",
            level.level.map { "\($0.tenths) dBFS, peaks at \((level.peak ?? 0).tenths) dBFS" } ?? "digitally silent")
        facts.add(
            "Chirps",
            call.delay.map { "\(call.delays.count) of \(call.chirps) heard, after \($0.tenths) ms there and back" }
                ?? "none of \(call.chirps) heard")
        return facts
    }

    /// The JSON object for programs.
    var json: JSON {
        func count(_ severity: DoctorSeverity) -> JSON { JSON(findings.count { $0.severity == severity }) }
        return [
            "soundBothWays": JSON(isSound), "verdict": .string(summary), "measurement": measured?.json ?? .null,
            "findings": .array(findings.map(\.json)),
            "faults": count(.fault), "warnings": count(.warning), "notes": count(.note),
        ]
    }
}

extension CallMeasurement {
    fileprivate var json: JSON {
        func number(_ value: Double?) -> JSON { value.map(JSON.number) ?? .null }
        return [
            "wanted": JSON(wanted == .none ? nil : wanted.description),
            "expected": JSON(expected == .none ? nil : expected.description),
            "device": JSON(link?.device.description), "name": JSON(name), "codec": JSON(link?.codec), "why": JSON(why),
            "packetsReceived": JSON(packets), "packetsLost": JSON(lost), "lossPercent": .number(lossPercent),
            "blocksReceived": JSON(blocksReceived), "blocksSent": JSON(blocksSent), "muted": JSON(isMuted),
            "microphoneDBFS": number(microphone.level), "microphonePeakDBFS": number(microphone.peak),
            "chirpsSent": JSON(chirps), "chirpsHeard": JSON(delays.count), "roundTripMilliseconds": number(delay),
        ]
    }
}
