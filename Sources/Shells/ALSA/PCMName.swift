/// Names of PCMs that programs on the bus may use.
///
/// alsa-lib's names take arguments, and some of its PCMs do more with them than play: `file:` and `tee:` write any file or
/// run `|COMMAND`, `shm:` connects to any socket, and a name in braces is a configuration of its own. Programs on the bus
/// may therefore use names of a fixed form only. The board's administrator can use any other PCM in the configuration, or
/// define it under a plain name in asound.conf.
package enum PCMName {
    /// Kinds of alsa-lib PCMs whose arguments are a card and numbers of its devices.
    static let cardKinds = [
        "hw", "plughw", "sysdefault", "default", "dmix", "dsnoop", "front", "surround21", "surround40", "surround41",
        "surround50", "surround51", "surround71", "hdmi", "iec958",
    ]
    /// Plain names of alsa-lib PCMs that write, connect, or lead back to btcalld itself.
    private static let refused: Set<String> = ["file", "tee", "shm", "btcall"]
    private static let keys = ["CARD=", "DEV=", "SUBDEV="]
    private static let longestWord = 64

    package static let accepted =
        "a PCM of asound.conf (letters, digits, - and _), or hw, plughw, sysdefault, default, dmix, dsnoop, front, "
        + "surround51 and the like, hdmi or iec958 with a card and numbers (plughw:CARD=PCH,DEV=0), with plug: in front or not"

    /// Whether a name has the fixed form.
    package static func isAccepted(_ name: String) -> Bool {
        guard name.utf8.count <= 2 * longestWord else { return false }
        if isWord(name) { return !refused.contains(name) }
        guard name.hasPrefix("plug:") else { return isOfCard(name[...]) }
        var slave = name.dropFirst("plug:".count)
        if slave.hasPrefix("SLAVE=") { slave = slave.dropFirst("SLAVE=".count) }
        for quote in ["'", "\""] where slave.utf8.count >= 2 && slave.hasPrefix(quote) && slave.hasSuffix(quote) {
            slave = slave.dropFirst().dropLast()
            break
        }
        return isWord(slave) ? !refused.contains(String(slave)) : isOfCard(slave)
    }

    /// `hw:0,0`, `plughw:CARD=PCH,DEV=0`.
    private static func isOfCard(_ name: Substring) -> Bool {
        guard let colon = name.firstIndex(of: ":"), cardKinds.contains(String(name[..<colon])) else { return false }
        let arguments = name[name.index(after: colon)...].split(separator: ",", omittingEmptySubsequences: false)
        guard arguments.count <= keys.count else { return false }
        return arguments.enumerated().allSatisfy { index, argument in
            let key = keys.first { argument.hasPrefix($0) }
            let value = key.map { argument.dropFirst($0.count) } ?? argument
            let isCard = key.map { $0 == keys[0] } ?? (index == 0)
            return isCard ? isWord(value) : isNumber(value)
        }
    }

    private static func isWord(_ text: some StringProtocol) -> Bool {
        let isPlain: (UInt8) -> Bool = { byte in
            switch byte {
            case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "_"), UInt8(ascii: "-"):
                true
            default: false
            }
        }
        return (1...longestWord).contains(text.utf8.count) && text.utf8.allSatisfy(isPlain)
    }

    private static func isNumber(_ text: Substring) -> Bool {
        let digits = UInt8(ascii: "0")...UInt8(ascii: "9")
        return (1...3).contains(text.utf8.count) && text.utf8.allSatisfy { digits.contains($0) }
    }
}
