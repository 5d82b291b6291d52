import BTCallAPI
import TestSupport

/// A line with `busctl`, compared with the interface files.
struct BusCommand {
    struct Failure: Error, CustomStringConvertible {
        let description: String
    }

    private static let standard: [String: [String: String]] = [
        "org.freedesktop.DBus.ObjectManager": ["GetManagedObjects": ""],
        "org.freedesktop.DBus.Properties": ["Get": "ss", "GetAll": "s", "Set": "ssv"],
        "org.freedesktop.DBus.Introspectable": ["Introspect": ""],
    ]

    /// - Parameter arguments: without the program.
    static func check(_ arguments: [String]) throws {
        var words: [String] = []
        var rest = arguments[...]
        while let word = rest.popFirst() {
            if word == "--match" {
                try checkMatch(rest.popFirst() ?? "")
            } else if !word.hasPrefix("--") {
                words.append(word)
            }
        }
        guard let verb = words.first else { throw Failure(description: "busctl is given no verb") }
        let names = words.dropFirst(4)
        switch verb {
        case "tree", "monitor", "status": try expect(words.count == 2, "\(verb) takes a name on the bus")
        case "introspect": try expect(words.count == 3, "introspect takes a name on the bus and a path")
        case "get-property":
            let file = try interfaceFile(words)
            try expect(!names.isEmpty, "get-property is given no property")
            for name in names { try expect(file.properties[name] != nil, "\(words[3]) has no property \(name)") }
        case "set-property":
            let file = try interfaceFile(words)
            try expect(words.count >= 7, "set-property takes a property, a signature and a value")
            try expect(file.writableProperties.contains(words[4]), "\(words[4]) of \(words[3]) cannot be set")
            try expect(file.properties[words[4]] == words[5], "\(words[4]) is not of type \(words[5])")
        case "call":
            try expect(words.count >= 5, "call takes a name on the bus, a path, an interface and a method")
            let signature = words.count > 5 ? words[5] : ""
            if let methods = standard[words[3]] {
                try expect(methods[words[4]] == signature, "\(words[3]).\(words[4]) does not take \"\(signature)\"")
                return
            }
            let method = try interfaceFile(words).methods[words[4]]
            try expect(method != nil, "\(words[3]) has no method \(words[4])")
            try expect(
                method?.hasPrefix("\(signature) -> ") ?? false,
                "\(words[4]) does not take \"\(signature)\": \(method ?? "")")
        default: throw Failure(description: "the test does not know busctl \(verb)")
        }
    }

    /// The interface of a command, whose object has to be one that has it.
    private static func interfaceFile(_ words: [String]) throws -> InterfaceFile {
        try expect(words.count > 3, "\(words[0]) takes a name on the bus, a path and an interface")
        let interface = words[3]
        let bus = interface == BTCallName.Interface.video ? BTCallName.videoBus : BTCallName.bus
        try expect(words[1] == bus, "\(words[1]) is not \(bus)")
        let isThere =
            switch interface {
            case BTCallName.Interface.manager, BTCallName.Interface.pairing: words[2] == BTCallPath.manager
            case BTCallName.Interface.router: words[2] == BTCallPath.router
            case BTCallName.Interface.calls: words[2] == BTCallPath.calls
            case BTCallName.Interface.audio: words[2] == BTCallPath.audio
            case BTCallName.Interface.session: words[2] == BTCallPath.session
            case BTCallName.Interface.call: words[2] == "$call" || BTCallPath.callID(at: words[2]) != nil
            case BTCallName.Interface.video: words[2] == BTCallPath.video
            case BTCallName.Interface.headset: BTCallPath.headsetAddress(at: words[2]) != nil
            default: false
            }
        try expect(isThere, "\(words[2]) has no \(interface)")
        return try InterfaceFile(interface)
    }

    /// - Parameter rule: as D-Bus writes it: `type='signal',interface='…'`.
    private static func checkMatch(_ rule: String) throws {
        var parts: [String: String] = [:]
        for part in rule.split(separator: ",") {
            let sides = part.split(separator: "=")
            try expect(sides.count == 2, "\(part) is no part of a match rule")
            parts[String(sides[0])] = sides[1].filter { $0 != "'" }
        }
        guard let interface = parts["interface"] else { return }
        let file = try InterfaceFile(interface)
        if let member = parts["member"] {
            try expect(file.signals[member] != nil, "\(interface) has no signal \(member)")
        }
    }

    private static func expect(_ isRight: Bool, _ description: String) throws {
        guard isRight else { throw Failure(description: description) }
    }
}
