import ArgumentParser
import BTCall
import BTCallJSON
import CommandKit
import ControlLoop
import JSONText

/// `btcall talk`: push to talk, and a key for scripts.
struct TalkCommand: BridgeCommand {
    static let configuration = CommandConfiguration(
        commandName: "talk",
        abstract: "Show who talks on calls with push to talk, press a key, and learn the key of a device.",
        discussion: """
            Without ACTION it shows the calls with a talk mode, and the talk keys. ACTION is one of:
              press    press the key named btcall, until release or until the time to talk is over
              release  release it
              learn DEVICE   write a row for a paired device whose talk key is unknown: press it three times within 30 s, \
            and hold it about a second each time
              forget DEVICE  forget what was learnt

            DEVICE is an address, or a headset's name.

            `btcall config talk.mode push` switches push to talk on for calls whose applications do not say otherwise.

            Examples:
              btcall talk
              btcall talk press
              btcall talk release
              btcall talk learn 00:00:5E:00:53:21
            """)

    @Argument(help: "press, release, learn or forget.")
    var action: Action?

    @Argument(help: "The device of learn and forget.", completion: HeadsetArgument.completion)
    var device: DeviceArgument?

    @OptionGroup var options: CommonOptions

    enum Action: String, ExpressibleByArgument, CaseIterable, Sendable {
        case press, release, learn, forget
    }

    func validate() throws {
        switch action {
        case .learn, .forget:
            if device == nil {
                throw ValidationError("name the device: btcall talk \(action?.rawValue ?? "learn") DEVICE")
            }
        case .press, .release, nil:
            if let device { throw ValidationError("omit \(device.text): only learn and forget have a device") }
        }
    }

    /// The key that a later command can release.
    private static let key = "btcall"

    func perform(on bridge: CallBridge, _ output: Output) async throws {
        switch action {
        case .press, .release: try await bridge.calls.setTalk(action == .press, key: Self.key)
        case .learn: return try await learn(on: bridge, output)
        case .forget: return try await forget(on: bridge, output)
        case nil: break
        }
        let calls = try await bridge.calls.list().filter { $0.talkMode != .off }
        let keys = try await bridge.calls.talkKeys()
        if options.json {
            output.print([
                "talkCalls": .array(calls.map(Self.json)), "talkKeys": .array(keys.map(Self.json)),
            ])
        } else {
            Self.lines(calls, keys).forEach(output.print)
        }
    }

    private func learn(on bridge: CallBridge, _ output: Output) async throws {
        guard let device else { return }
        let (address, _) = try await device.headset(on: bridge)
        let isJSON = options.json
        if !isJSON {
            output.print("press the talk key of \(address) three times, and hold it about a second each time")
        }
        let row = try await bridge.calls.learnTalkKey(of: address) { count in
            if !isJSON { output.print("\(count) of 3") }
        }
        if isJSON {
            output.print(["address": .string(address), "row": .string(row)])
        } else {
            output.print("learnt:")
            for line in row.split(separator: "\n") { output.print("  \(line)") }
        }
    }

    private func forget(on bridge: CallBridge, _ output: Output) async throws {
        guard let device else { return }
        let (address, _) = try await device.headset(on: bridge)
        try await bridge.calls.forgetTalkKey(of: address)
        if options.json {
            output.print(["address": .string(address), "row": .null])
        } else {
            output.print("what was learnt about the talk key of \(address) is forgotten")
        }
    }

    private static func lines(_ calls: [Call], _ keys: [TalkKey]) -> [String] {
        guard !calls.isEmpty || !keys.isEmpty else {
            return ["no call has a talk mode, and no talk key is known"]
        }
        var lines: [String] = []
        if !calls.isEmpty {
            var table = Table("CALL", "MODE", "STATE", "KEY")
            for call in calls {
                table.add(call.party, call.talkMode.rawValue, call.talkState.rawValue, call.talkHolder ?? "")
            }
            lines += table.lines
        }
        if !keys.isEmpty {
            var table = Table("KEY", "NAME", "")
            for key in keys { table.add(key.kind.rawValue, key.name, key.isPressed ? "pressed" : "released") }
            lines += (lines.isEmpty ? [] : [""]) + table.lines
        }
        return lines
    }

    private static func json(_ call: Call) -> JSON {
        [
            "call": .string(call.id.description), "talkMode": .string(call.talkMode.rawValue),
            "talkState": .string(call.talkState.rawValue), "key": JSON(call.talkHolder),
        ]
    }

    private static func json(_ key: TalkKey) -> JSON {
        ["kind": .string(key.kind.rawValue), "name": .string(key.name), "pressed": JSON(key.isPressed)]
    }
}
