import BluetoothTypes
import Foundation
import Testing

@Suite struct RivalProgramTests {
    private static let page = URL(filePath: #filePath).appending(path: "../../../../docs/questions/PipeWire.md")
        .standardized

    /// The parts of a text between grave accents.
    private static func quotes(_ text: String) -> [String] {
        text.split(separator: "`", omittingEmptySubsequences: false).enumerated().compactMap {
            $0.offset % 2 == 1 ? String($0.element) : nil
        }
    }

    @Test(arguments: RivalProgram.allCases)
    func `the page names the remedy that btcalld and the doctor print`(program: RivalProgram) throws {
        let page = try String(contentsOf: Self.page, encoding: .utf8)
        for quote in Self.quotes(program.profileRemedy) + Self.quotes(program.mediaRemedy) {
            #expect(page.contains(quote), "\(program): \(quote)")
        }
        guard let command = program.command, program != .hsphfpd, program != .cras else { return }
        #expect(page.contains(command))
    }

    @Test func `the page has each line of WirePlumber's configuration, and its file`() throws {
        let page = try String(contentsOf: Self.page, encoding: .utf8)
        for line in [WirePlumberLine.handsFreeOff, .musicOnly, .bluetoothOff] {
            #expect(page.contains(line.version05))
            #expect(page.contains(line.version04))
        }
        for text in [WirePlumberLine.file05, WirePlumberLine.file04, WirePlumberLine.restart] {
            #expect(page.contains(text))
        }
    }

    @Test func `a remedy names the file, the line and the restart for both releases of WirePlumber`() {
        #expect(
            RivalProgram.wireplumber.profileRemedy == """
                write `monitor.bluez.properties = { bluez5.hfphsp-backend = "none" }` into \
                /etc/wireplumber/wireplumber.conf.d/51-btcall.conf (WirePlumber 0.4: \
                `bluez_monitor.properties["bluez5.hfphsp-backend"] = "none"` into \
                /etc/wireplumber/bluetooth.lua.d/51-btcall.lua) and run `systemctl --user restart wireplumber`, or stop it
                """)
        #expect(RivalProgram(process: "pipewire-media-") == .pipewire)
        #expect(RivalProgram(busName: "org.bluealsa.hci0") == .bluealsa)
        #expect(RivalProgram(process: "bash") == nil)
        #expect(RivalProgram(busName: "org.bluez") == nil)
    }
}
