/// The links of PipeWire from streams to Bluetooth headsets, as `pw-link --links --id` prints them.
struct HeadsetStreams: Equatable {
    struct Link: Equatable {
        /// Numbers of the link and of the two ports that it joins.
        let id, output, input: UInt32
    }

    /// Prefix of the nodes that play to headsets over A2DP.
    private static let prefix = "bluez_output."

    var links: [Link] = []
    /// Names of the nodes that the links lead to, in order.
    var headsets: [String] = []

    init() {}

    /// Reads lines such as `44 bluez_output.X:playback_FL` and, below it, `56   |<-   54 player:output_FL`.
    init(linkList text: String) {
        var input: UInt32?
        for line in text.split(whereSeparator: \.isNewline) {
            let words = line.split(separator: " ", maxSplits: 3).map { $0.drop { $0 == " " } }
            guard let first = words.first, let number = UInt32(first) else { continue }
            let rest = line.drop { $0 == " " }.dropFirst(first.count).drop { $0 == " " }
            if rest.hasPrefix("|<-") {
                let output = rest.dropFirst(3).split(separator: " ").first.flatMap { UInt32($0) }
                if let input, let output { links.append(Link(id: number, output: output, input: input)) }
            } else if !rest.hasPrefix("|->") {
                let isHeadset = rest.hasPrefix(Self.prefix) && rest.contains(":playback_")
                input = isHeadset ? number : nil
                if isHeadset, let colon = rest.lastIndex(of: ":"), !headsets.contains(String(rest[..<colon])) {
                    headsets.append(String(rest[..<colon]))
                }
            }
        }
    }
}
