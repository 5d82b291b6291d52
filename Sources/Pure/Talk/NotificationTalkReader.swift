/// The key of a device that notifies values of a GATT characteristic.
package struct NotificationTalkReader: Hashable, Sendable {
    private let press: [TalkPattern]
    private let release: [TalkPattern]

    /// - Parameter release: empty for a button that sends the same for each press.
    package init(press: [TalkPattern], release: [TalkPattern]) {
        self.press = press
        self.release = release
    }

    /// - Parameter value: as notified; a pattern has to match all of it, except a line end or a zero after a text.
    /// - Returns: nil for a value that is not the key's.
    package func read(_ value: some Collection<UInt8>) -> TalkSignal? {
        guard value.count <= TalkPattern.longest + 8 else { return nil }
        let value = Array(value)
        if press.contains(where: { $0.matches(value) }) { return release.isEmpty ? .tapped : .pressed }
        return release.contains { $0.matches(value) } ? .released : nil
    }
}
