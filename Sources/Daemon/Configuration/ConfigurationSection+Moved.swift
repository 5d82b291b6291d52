extension ConfigurationSection {
    /// Another program that does the work of a section of earlier versions.
    struct Moved {
        let problem: String
        /// What to do now.
        let instead: String
    }

    /// By the name of the section; such a section is accepted while it has no keys, as in those versions' example.
    static let moved = [
        "provider baresip": Moved(
            problem: "btcall-baresip follows baresip, not btcalld",
            instead: "write its address, port and account into /etc/btcall/baresip.conf as control = "
                + "ADDRESS:PORT and account = …, and start it: systemctl enable --now btcall-baresip.service"),
        "metrics": Moved(
            problem: "btcall-web serves the metrics, not btcalld",
            instead: "install btcall-web, and read http://127.0.0.1:8460/metrics with a token of scope read "
                + "(btcall web token), or print them: btcall daemon metrics"),
    ]
}
