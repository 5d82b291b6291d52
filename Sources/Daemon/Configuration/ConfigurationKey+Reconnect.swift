import BTCallAPI
import BluetoothTypes

/// How known headsets that are away are reconnected.
package struct ReconnectConfiguration: Equatable, Sendable {
    /// Whether btcalld pages them.
    package var isOn = true
    /// Seconds from the loss of a headset to its first page, 1…3600.
    package var seconds = 5
    /// Longest time in seconds between two pages of a headset, 1…86400.
    package var maxSeconds = 300
    /// Losses within two minutes after which a headset is not paged for `quarantineSeconds`, 2…100.
    package var losses = 5
    /// Length of that quarantine in seconds, 1…86400.
    package var quarantineSeconds = 300

    package init() {}
}

// Reconnecting of headsets.
extension ConfigurationSection {
    package static var reconnectKeys: [ConfigurationKey] {
        [
            boolean(
                "reconnect", "yes", "page headsets that are paired, trusted and away, except during calls",
                .now,
                \.reconnect.isOn),
            integer(
                "reconnectSeconds", "5",
                "seconds from the loss of a headset to its first page; each further wait is twice as long",
                1...3600, .now, \.reconnect.seconds),
            integer(
                "reconnectMaxSeconds", "300", "longest wait between two pages of a headset, in seconds", 1...86400,
                .now, \.reconnect.maxSeconds),
            integer(
                "reconnectLosses", "5",
                "losses within two minutes after which a headset is not paged for quarantineSeconds",
                2...100,
                .now, \.reconnect.losses),
            integer(
                "quarantineSeconds", "300", "seconds for which an unstable headset is not paged", 1...86400, .now,
                \.reconnect.quarantineSeconds),
        ]
    }
}
