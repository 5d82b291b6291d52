import BTCall
import BTCallAPI
import BluetoothTypes
import CommandKit
import Configuration

/// btcalld.conf(5), generated from the keys that btcalld reads.
enum ConfigurationManual {
    static var page: ManualPage {
        var page = ManualPage("btcalld.conf", section: 5, summary: "Configuration of btcalld.")
        page.heading("SYNOPSIS")
        page.code(["/etc/btcall/btcalld.conf"])
        page.heading("DESCRIPTION")
        page.prose(
            """
            INI: sections in brackets, keys with `=`, comments that begin with # or ;. btcalld reads it once, at \
            its start; without the file it uses the defaults, which have no local devices. `btcalld --check \
            FILE` reports the errors in a file, `btcalld --example` prints one with every key.

            Values set while btcalld runs (`btcall config`, `btcall prefer` and others) are kept in \
            preferences.conf in the state directory and override this file.

            Each key is listed with its values, its default, and the time at which a change by `btcall config` \
            takes effect. Keys that take effect when btcalld starts can be set only here.
            """)
        for section in ConfigurationSection.all {
            page.heading("[\(section.name)]")
            if case .device = section { page.prose("A local device; without the section the board has none.") }
            add(section.keys, to: &page)
        }
        page.heading("[headset AA:BB:CC:DD:EE:FF]")
        page.prose("One headset, by its address: its values replace those for all headsets.")
        add(ConfigurationSection.headset(BluetoothAddress(value: 0xAABB_CCDD_EEFF)).keys, to: &page)
        page.heading("EXAMPLES")
        page.code([
            "[device earpiece]", "playback = hw:0,0", "capture = hw:0,0", "", "[routing]",
            "headsetOrder = 00:00:5E:00:53:01, 00:00:5E:00:53:02",
        ])
        page.seeAlso(["btcalld(8)", "btcall-config(1)"])
        return page
    }

    private static func add(_ keys: [ConfigurationKey], to page: inout ManualPage) {
        for key in keys {
            page.item("\\fB\(ManualPage.code(key.name))\\fR", key.summary)
            page.itemContinued("Values: \(key.accepted). Default: \(key.standard.isEmpty ? "none" : key.standard).")
            if let effect = Setting.Effect(rawValue: key.effect.rawValue) {
                page.itemContinued("A change \(effect.sentence).")
            }
        }
    }
}
