/// The key of a device that sends fixed patterns of bytes over RFCOMM.
///
/// Bytes may be split anywhere, with or without line ends; what lies between patterns is ignored. It keeps fewer bytes than its
/// longest pattern has.
package struct SerialTalkReader: Hashable, Sendable {
    private let press: [TalkPattern]
    private let release: [TalkPattern]
    private let longest: Int
    /// The last bytes since the last pattern.
    private var window: [UInt8] = []

    /// - Parameters:
    ///   - press: no pattern may contain another one (`TalkPattern.firstConflict`).
    ///   - release: empty for a button that sends the same for each press.
    package init(press: [TalkPattern], release: [TalkPattern]) {
        self.press = press
        self.release = release
        longest = (press + release).map(\.count).max() ?? 0
    }

    /// The signals in `bytes`, in their order.
    package mutating func read(_ bytes: some Sequence<UInt8>) -> [TalkSignal] {
        var signals: [TalkSignal] = []
        for byte in bytes {
            window.append(byte)
            if let signal = signalAtEnd {
                signals.append(signal)
                window.removeAll(keepingCapacity: true)
            } else if window.count >= longest {
                window.removeFirst(window.count - max(longest - 1, 0))
            }
        }
        return signals
    }

    /// Forgets an incomplete pattern: the connection ended.
    package mutating func reset() { window.removeAll() }

    private var signalAtEnd: TalkSignal? {
        if press.contains(where: { $0.matchesEnd(of: window) }) { return release.isEmpty ? .tapped : .pressed }
        return release.contains { $0.matchesEnd(of: window) } ? .released : nil
    }
}
