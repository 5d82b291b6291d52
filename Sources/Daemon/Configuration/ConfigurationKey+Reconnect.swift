import BTCallAPI
import BluetoothTypes

/// How headsets that are known and away are brought back.
package struct ReconnectConfiguration: Equatable, Sendable {
    /// Whether they are paged.
    package var isOn = true
    /// From the loss of a headset to its first page, 1…3600.
    package var seconds = 5
    /// The longest time between two pages of a headset, 1…86400.
    package var maxSeconds = 300
    /// Losses within two minutes after which it is left alone, 2…100.
    package var losses = 5
    /// For how long, 1…86400.
    package var quarantineSeconds = 300

    package init() {}
}

// Headsets that come back by themselves.
extension ConfigurationSection {
    package static var reconnectKeys: [ConfigurationKey] {
        [
            boolean(
                "reconnect", "yes", "page headsets that are paired, trusted and away, except while there is a call",
                .now,
                \.reconnect.isOn),
            integer(
                "reconnectSeconds", "5",
                "from the loss of a headset to its first page; each further wait is twice as long",
                1...3600, .now, \.reconnect.seconds),
            integer(
                "reconnectMaxSeconds", "300", "the longest wait between two pages of a headset", 1...86400, .now,
                \.reconnect.maxSeconds),
            integer(
                "reconnectLosses", "5", "losses within two minutes after which a headset is left alone for a while",
                2...100,
                .now, \.reconnect.losses),
            integer(
                "quarantineSeconds", "300", "for how long a headset is left alone that comes and goes", 1...86400, .now,
                \.reconnect.quarantineSeconds),
        ]
    }
}
