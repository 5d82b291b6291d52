/// Advice for an open audio link that has never received anything, depending on its controller.
package enum SilentLinkAdvice {
    private static let broadcom = 15
    private static let cypress = 305
    private static let texasInstruments = 13

    /// Manufacturers, by company number, whose controllers on a serial port often have their voice wired to PCM pins.
    private static let makers = [
        (texasInstruments, "Texas Instruments"), (broadcom, "Broadcom"), (29, "Qualcomm"), (37, "NXP"), (72, "Marvell"),
        (cypress, "Cypress"), (2, "Intel"), (10, "Cambridge Silicon Radio"), (70, "MediaTek"), (93, "Realtek"),
    ]

    /// - Parameters:
    ///   - controller: name, such as `hci0`.
    ///   - maker: its company number; nil: unknown.
    ///   - isHeard: whether other links through it had audio.
    ///   - isRouted: whether it has confirmed to send voice to the host.
    ///   - isContested: whether another program keeps changing that.
    package static func text(
        controller: String, maker: Int?, isHeard: Bool, setting: VoiceRoutingSetting, isRouted: Bool,
        isContested: Bool = false
    ) -> String {
        if isContested {
            return "another program keeps changing where \(controller) sends voice: see `btcall status`"
        }
        if isHeard {
            return "links through \(controller) were heard before, so the cause is this headset or the radio"
        }
        if isRouted {
            return """
                \(controller) sends voice to the host, as configured, so the cause is this headset or the radio, unless another \
                program has changed it, which is checked now; if no other headset is heard either, `dmesg`
                """
        }
        let name = maker.flatMap { number in makers.first { $0.0 == number }?.1 }
        let known = name.map { "\(controller) is made by \($0)" } ?? maker.map { "\(controller) is of company \($0)" }
        let every = "if this is so for every headset,"
        let subject = known.map { "\($0); \(every) it" } ?? "\(every) \(controller)"
        let fault = "\(subject) sends voice to its PCM pins instead of the host"
        switch (maker, setting) {
        case (broadcom, .leave), (cypress, .leave):
            return "\(fault): `btcall config bluetooth.scoRouting host`"
        case (broadcom, .host), (cypress, .host):
            return "\(fault), and changing that has failed: see `btcall status`"
        case (texasInstruments, _):
            return "\(fault): HCI_VS_Write_SCO_Configuration in its init script (ti-connectivity/*.bts) changes that"
        default:
            return "\(fault): its firmware, the devicetree or its maker's own HCI command changes that"
        }
    }
}
