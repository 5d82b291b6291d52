import BTCallAPI
import Glibc

/// `[provider baresip]`: the softphone that is followed through its module `ctrl_tcp`.
extension ConfigurationSection {
    package static var baresipKeys: [ConfigurationKey] {
        [
            boolean(
                "enabled", "no", "follow a running baresip; it needs the modules menu and ctrl_tcp", .restart,
                \.baresip.isFollowed),
            addressKey,
            integer(
                "port", "4444", "TCP port of its ctrl_tcp (ctrl_tcp_listen)", 1...65535, .restart, \.baresip.port),
            accountKey,
        ]
    }

    private static var addressKey: ConfigurationKey {
        let accepted = "an IPv4 address, as 127.0.0.1"
        return ConfigurationKey(
            "address", "127.0.0.1", "where it runs; what is said to another machine is neither secret nor proven",
            accepted: accepted, effect: .restart, read: { $0.baresip.address },
            apply: { configuration, value throws(ConfigurationValueError) in
                var address = in_addr()
                guard inet_pton(AF_INET, value, &address) == 1 else {
                    throw ConfigurationValueError(accepted: accepted)
                }
                configuration.baresip.address = value
            })
    }

    private static var accountKey: ConfigurationKey {
        let accepted = "an address of record, as sip:alice@example.org; empty leaves it to baresip"
        return ConfigurationKey(
            "account", "", "the account that dials: sip:alice@example.org; absent: baresip's current one",
            accepted: accepted, effect: .restart, read: { $0.baresip.account ?? "" },
            apply: { configuration, value throws(ConfigurationValueError) in
                let isPlain = value.utf8.allSatisfy { $0 > 0x20 && $0 < 0x7F }
                let isURI = value.hasPrefix("sip:") || value.hasPrefix("sips:")
                guard value.isEmpty || isPlain && isURI && value.contains("@") else {
                    throw ConfigurationValueError(accepted: accepted)
                }
                configuration.baresip.account = value.isEmpty ? nil : value
            })
    }
}
