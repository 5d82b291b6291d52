import BTCall
import CommandKit
import JSONText

extension QuirkTable {
    /// The database as a JSON object of the command line.
    var json: JSON {
        [
            "files": .array(
                files.map { file in
                    [
                        "path": .string(file.path), "origin": .string(file.origin.rawValue),
                        "version": JSON(file.version), "rowCount": JSON(file.rowCount),
                    ]
                }),
            "rows": .array(rows.map(\.json)),
            "unknown": JSON(unknownNames),
        ]
    }

    /// Lines for people.
    var lines: [String] {
        guard !files.isEmpty else {
            return ["no quirks database: `btcall config quirks.database` shows where btcalld looks for it"]
        }
        var lines = files.map { file in
            "\(file.path): \(file.version.map { "version \($0), " } ?? "")\(file.rowCount) rows (\(file.origin.rawValue))"
        }
        lines += unknownNames.map { "\($0) is switched off, but there is no such row" }
        lines.append("")
        var table = Table("ROW", "STATE", "MEANS", "EFFECT")
        for row in rows {
            table.add(row.name, row.stateText, row.conditions.joined(separator: "; "), row.effectText)
        }
        return lines + table.lines
    }
}

extension QuirkExplanation {
    /// The explanation as a JSON object of the command line.
    var json: JSON {
        [
            "address": .string(address),
            "name": JSON(name),
            "modalias": JSON(modalias),
            "known": JSON(isKnown),
            "connected": JSON(isConnected),
            "controller": JSON(controller),
            "controllerModalias": JSON(controllerModalias),
            "driver": JSON(driver),
            "kernel": JSON(kernel),
            "manufacturer": JSON(manufacturer),
            "alternateSetting": JSON(alternateSetting),
            "applied": .array(applied.map(\.json)),
            "near": .array(near.map(\.json)),
            "outcomes": .array(
                outcomes.map { outcome in
                    [
                        "key": .string(outcome.key), "value": .string(outcome.value),
                        "summary": .string(outcome.summary), "sources": JSON(outcome.sources),
                    ]
                }),
        ]
    }

    /// Lines for people.
    var lines: [String] {
        var facts = Facts()
        facts.add("Name", name ?? "not known")
        facts.add("Id", modalias ?? "not known")
        facts.add("Controller", controllerText)
        var lines = ["\(address), \(stateText)"] + facts.lines + [""]
        if applied.isEmpty {
            lines.append("no row applies")
        } else {
            lines.append("these rows apply; a later one overrides an earlier one:")
            for row in applied { lines += row.lines(because: row.because) }
        }
        if !near.isEmpty {
            lines += ["", "these match this headset, but do not apply:"]
            for row in near { lines += row.lines(because: row.obstacles) }
        }
        lines.append("")
        guard !outcomes.isEmpty else { return lines + ["this headset has no special treatment"] }
        lines.append(isConnected ? "so, from its next connection on if this is new:" : "so:")
        for outcome in outcomes {
            lines.append("  \(outcome.key) = \(outcome.value) (\(outcome.sources.joined(separator: ", ")))")
            lines.append("      \(outcome.summary)")
        }
        return lines
    }

    private var stateText: String {
        guard isKnown else { return "not known to bluetoothd: only rows by address or by controller can apply" }
        return isConnected ? "connected" : "not connected"
    }

    private var controllerText: String {
        guard let controller else { return "none" }
        let parts = [
            controllerModalias, driver, manufacturer.map { "manufacturer \($0)" },
            alternateSetting.map { "mSBC by alternate setting \($0)" }, kernel.map { "Linux \($0)" },
        ]
        return ([controller] + parts.compactMap { $0 }).joined(separator: ", ")
    }
}

extension Quirk {
    var json: JSON {
        [
            "name": .string(name),
            "origin": .string(origin.rawValue),
            "line": JSON(line),
            "state": .string(state.rawValue),
            "expires": JSON(expires),
            "conditions": JSON(conditions),
            "effects": JSON(effects),
            "advice": JSON(advice),
            "reference": .string(reference),
            "reason": .string(reason),
            "because": JSON(because),
            "obstacles": JSON(obstacles),
        ]
    }

    var stateText: String {
        switch state {
        case .active: origin.rawValue
        case .expired: "expired"
        case .off: "off"
        }
    }

    var effectText: String { effects.isEmpty ? "advice" : effects.joined(separator: "; ") }

    func lines(because reasons: [String]) -> [String] {
        var lines = ["  \(name) (\(origin.rawValue), line \(line)): \(reasons.joined(separator: "; "))"]
        lines += effects.map { "      \($0)" }
        if let advice { lines.append("      advice: \(advice)") }
        lines.append("      why: \(reason); known from \(reference)")
        return lines
    }
}
