import BTCallSimulator
import BluetoothTypes
import Routing

/// Writes scenarios of events as a file that `btcall-lab replay` reads.
enum ScenarioText {
    static func file(_ scenario: Scenario) -> String {
        let steps = scenario.events.map { event in
            let arguments = event.record.arguments.map { ", \(quoted($0.name)): \(value($0.value))" }
            let time = event.time.nanoseconds / 1_000_000
            return "{\"t\": \(time), \"do\": \(quoted(event.record.word))\(arguments.joined())}"
        }
        return """
            {"format": "btcall-scenario/1", "scenarios": [
            {"id": \(quoted(scenario.id)), "title": \(quoted(scenario.title)), "mayBeSilent": true,
            "given": {\(given(scenario.given))}, "steps": [
            \(steps.joined(separator: ",\n"))
            ]}]}
            """
    }

    private static func given(_ given: Scenario.Given) -> String {
        var members = LocalDevice.allCases.filter { $0 != .wiredHeadset }.map { local in
            "\(quoted(local.rawValue)): \(given.locals.contains(local))"
        }
        members = ["\"hw\": {\(members.joined(separator: ", "))}", "\"jack\": \(quoted(given.jack.rawValue))"]
        let headsets = given.headsets.map { model in
            let script = model.script.map { quoted(word($0)) }
            return
                "\(quoted(model.address.description)): {\"profiles\": \(value(.list(model.profiles.map(\.rawValue)))),"
                + " \"category\": \(quoted(model.category.rawValue)), \"inband\": \(model.inband),"
                + " \"openMs\": \(model.openTime.milliseconds), \"closeMs\": \(model.closeTime.milliseconds),"
                + " \"script\": [\(script.joined(separator: ", "))]}"
        }
        members.append("\"headsets\": {\(headsets.joined(separator: ", "))}")
        members.append("\"connected\": \(value(.list(given.connected.map(\.description))))")
        members.append("\"preferred\": \(quoted(given.preferred.description))")
        members.append("\"default\": \(quoted(given.defaultDevice.description))")
        members.append("\"started\": \(given.started)")
        let changes = RoutingKey.allCases.compactMap { key -> String? in
            let text = given.configuration.value(of: key)
            guard text != RoutingConfiguration.defaultValue(of: key) else { return nil }
            return "\(quoted(key.rawValue)): \(quoted(text))"
        }
        members.append("\"config\": {\(changes.joined(separator: ", "))}")
        return members.joined(separator: ", ")
    }

    private static func word(_ outcome: Scenario.LinkOutcome) -> String {
        switch outcome {
        case .opens: "ok"
        case .opensFor(let time): "ok+\(time.milliseconds)"
        case .refuses: "fail"
        case .hangs: "hang"
        }
    }

    private static func value(_ value: EventRecord.Value) -> String {
        switch value {
        case .text(let text): quoted(text)
        case .flag(let flag): "\(flag)"
        case .list(let list): "[\(list.map(quoted).joined(separator: ", "))]"
        }
    }

    /// Words, addresses and numbers only: nothing in them needs escaping.
    private static func quoted(_ text: String) -> String { "\"\(text)\"" }
}
