import BTCallAPI

/// `[metrics]`: metrics for monitoring systems.
extension ConfigurationSection {
    package static var metricsKeys: [ConfigurationKey] {
        [
            integer(
                "port", "0", "TCP port of 127.0.0.1 where metrics are served (http://127.0.0.1:PORT/metrics); 0: none",
                0...65535, .now, \.metricsPort)
        ]
    }
}
