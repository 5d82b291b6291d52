import BTCall
import BTCallAPI
import ControlLoop
import Foundation
import Testing

@testable import BTCallCommand

@Suite(.timeLimit(.minutes(1))) struct CallLogVerbTests {
    let bus: PrivateBus
    let daemon: FakeDaemon

    init() async throws {
        bus = try PrivateBus()
        daemon = try await FakeDaemon(bus.address)
    }

    @Test func `dnd switches do not disturb, and says how it is`() async throws {
        #expect(try await CommandRun.btcall("dnd", bus: bus).output == "incoming calls ring\n")
        #expect(try await CommandRun.btcall("dnd", "on", bus: bus).output == "incoming calls are refused\n")
        #expect(await daemon.isDoNotDisturb)
        #expect(try await CommandRun.btcall("dnd", "--json", bus: bus).object["doNotDisturb"] as? Bool == true)
        #expect(try await CommandRun.btcall("dnd", "off", "--json", bus: bus).object["doNotDisturb"] as? Bool == false)
        #expect(await !daemon.isDoNotDisturb)
    }
}
