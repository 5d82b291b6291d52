import CommandTestSupport
import ControlLoop
import TestSupport
import Testing
import WebTokens

@testable import btcall_web

@Suite @ControlPlane struct IdleEndTests {
    /// The idle time of these tests, and ten of them.
    private static let time: Duration = .milliseconds(20)
    private static let tenTimes: Duration = .milliseconds(200)

    @Test func `with the service manager's sockets the program ends when nobody has been connected for a while`()
        async throws
    {
        try await WebBox.run(isActivated: true) { box in
            var ends = 0
            let client = try WebClient(port: box.port)
            #expect(try await client.request("GET", "/v1", token: try box.token([.read]), body: nil).status == 200)
            box.web.whenIdle(for: Self.time) { ends += 1 }
            await ControlLoop.shared.sleep(for: Self.tenTimes)
            #expect(ends == 0, "somebody is connected")
            client.close()
            try await eventually("the program ends") { ends == 1 }
        }
    }

    @Test func `without them it never ends by itself`() async throws {
        try await WebBox.run { box in
            var ends = 0
            box.web.whenIdle(for: Self.time) { ends += 1 }
            await ControlLoop.shared.sleep(for: Self.tenTimes)
            #expect(ends == 0)
        }
    }

    @Test func `a registration keeps the program, also while its page is away`() async throws {
        try await WebBox.run(isActivated: true) { box in
            var ends = 0
            let provider = try await box.web.service.providers.pushed("push")
            box.web.whenIdle(for: Self.time) { ends += 1 }
            await ControlLoop.shared.sleep(for: Self.tenTimes)
            #expect(ends == 0)
            await provider.unregister()
            try await eventually("the program ends") { ends == 1 }
        }
    }
}
