import Configuration
import Testing

@Suite struct SilentLinkAdviceTests {
    private func advice(
        _ maker: Int?, _ setting: VoiceRoutingSetting = .leave, isHeard: Bool = false, isRouted: Bool = false
    ) -> String {
        SilentLinkAdvice.text(controller: "hci0", maker: maker, isHeard: isHeard, setting: setting, isRouted: isRouted)
    }

    @Test(arguments: [(15, "Broadcom"), (305, "Cypress")])
    func `for Broadcom's controllers the advice is the key, or why it has failed`(maker: Int, name: String) {
        let start = "hci0 is made by \(name); if this is so for every headset, it sends"
        let fault = "\(start) voice to its PCM pins instead of the host"
        #expect(advice(maker) == "\(fault): `btcall config bluetooth.scoRouting host`")
        #expect(advice(maker, .host) == "\(fault), and changing that has failed: see `btcall status`")
    }

    @Test(arguments: [
        (13, "Texas Instruments", "init script"), (29, "Qualcomm", "devicetree"), (37, "NXP", "devicetree"),
    ])
    func `for other makers' controllers the advice names what changes them`(maker: Int, name: String, remedy: String) {
        for setting in VoiceRoutingSetting.allCases {
            let text = advice(maker, setting)
            #expect(text.hasPrefix("hci0 is made by \(name); ") && text.contains(remedy))
            #expect(!text.contains("scoRouting"))
        }
    }

    @Test func `a maker without a name is shown by number, an unknown one not at all`() {
        #expect(advice(1234).hasPrefix("hci0 is of company 1234; "))
        #expect(advice(nil).hasPrefix("if this is so for every headset, hci0 sends voice to its PCM pins"))
    }

    @Test func `a controller with audio on other links, or already configured, is not blamed`() {
        #expect(
            advice(15, isHeard: true).hasPrefix("links through hci0 were heard before, so the cause is this headset"))
        #expect(advice(15, .host, isRouted: true).contains("as configured, so the cause is this headset"))
    }

    @Test func `a setting that another program keeps changing is the cause, whatever was heard before`() {
        let text = SilentLinkAdvice.text(
            controller: "hci0", maker: 15, isHeard: true, setting: .host, isRouted: true, isContested: true)
        #expect(text == "another program keeps changing where hci0 sends voice: see `btcall status`")
    }
}
