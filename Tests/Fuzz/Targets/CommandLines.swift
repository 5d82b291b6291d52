import HandsFree

/// Decides which lines from a headset get a final result code: commands and overlong lines; an empty line until the headset
/// has sent a line that is not a command.
struct CommandLines {
    let isHeadsetProfile: Bool
    private var isTalkative = false

    init(isHeadsetProfile: Bool) {
        self.isHeadsetProfile = isHeadsetProfile
    }

    mutating func isAnswered(_ input: ATReader.Input) -> Bool {
        guard case .line(let line) = input else { return true }
        guard !line.isEmpty else { return !isTalkative }
        let start = line.prefix(2).map { $0 & 0xDF }
        let isCommand = start == Array("AT".utf8) || isHeadsetProfile && line[0] == UInt8(ascii: "+")
        if !isCommand { isTalkative = true }
        return isCommand
    }
}
