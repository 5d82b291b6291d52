/// Names by which alsa-lib shares a sound card among programs.
package enum SharedPCM {
    /// Returns the name of a card's shared stream: `dmix` for playback, `dsnoop` for capture.
    ///
    /// - Parameter name: as in `aplay -D`. Only `hw:` and `plughw:` open a card exclusively; other names are returned
    ///   unchanged.
    package static func name(of name: String, _ direction: PCMHandle.Direction) -> String {
        guard let arguments = arguments(of: name) else { return name }
        let card = arguments.count > 0 ? value(arguments[0], "CARD") : "0"
        let device = arguments.count > 1 ? value(arguments[1], "DEV") : "0"
        let plugin = direction == .playback ? "dmix" : "dsnoop"
        return "plug:SLAVE='\(plugin):CARD=\(card),DEV=\(device)'"
    }

    private static func arguments(of name: String) -> [Substring]? {
        for prefix in ["hw:", "plughw:"] where name.hasPrefix(prefix) {
            return name.dropFirst(prefix.count).split(separator: ",")
        }
        return nil
    }

    private static func value(_ argument: Substring, _ key: String) -> Substring {
        argument.hasPrefix("\(key)=") ? argument.dropFirst(key.count + 1) : argument
    }
}
