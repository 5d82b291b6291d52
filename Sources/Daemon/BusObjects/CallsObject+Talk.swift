import BTCallAPI
import ControlLoop
import DBus
import Talk
import TalkControl

// Push to talk: the keys, and a key for programs.
extension CallsObject {
    private static let longestName = 32

    func talkKeysValue() -> Value {
        .vardicts(
            talk.control.keys.list.map { key, isPressed in
                TalkKeyDescription(kind: key.kind.rawValue, name: key.name, isPressed: isPressed).fields
            })
    }

    func setTalk(_ call: MethodCall) async throws(APIError) {
        let name = try Self.name(call.fields(1, .setTalk))
        let key = talk.programs.key(named: name, of: call.sender)
        guard call.flag(0) else { return talk.programs.release(key) }
        try talk.control.checkTalking()
        try talk.programs.press(key, isNamed: name != nil)
        do throws(APIError) {
            try await talk.control.settle()
        } catch {
            // Who was refused does not hold the key down.
            talk.programs.release(key)
            throw error
        }
    }

    func learnTalk(_ call: MethodCall) async throws(APIError) -> [Value] {
        [.string(try await talk.teacher.learn(call.address(0)).text)]
    }

    func forgetTalk(_ call: MethodCall) throws(APIError) { try talk.teacher.forget(call.address(0)) }

    /// The name of a key that outlives the caller.
    private static func name(_ options: Fields) throws(APIError) -> String? {
        guard let name = try options.optionalString("key", .word) else { return nil }
        // The keys of programs without a name are called by their bus names, which begin with a colon.
        guard (1...longestName).contains(name.utf8.count), name.utf8.allSatisfy(isPlain) else {
            throw APIError(
                .invalidArgument,
                "key in \(options.subject) is \"\(name)\"; accepted: 1 to \(longestName) of A-Z, a-z, 0-9, - and _")
        }
        return name
    }

    private static func isPlain(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
            UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "_"):
            true
        default: false
        }
    }
}
