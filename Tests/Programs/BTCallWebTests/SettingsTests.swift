import BluetoothTypes
import ProgramSettings
import Testing

@testable import btcall_web

@Suite struct SettingsTests {
    private typealias Arguments = ProgramArguments<WebSettings>

    private func read(_ text: String) throws -> WebSettings {
        try WebSettings(reading: Array(text.utf8), file: "web.conf")
    }

    private func refusal(_ text: String) -> String {
        do {
            _ = try read(text)
            return ""
        } catch {
            return "\(error)"
        }
    }

    @Test func `every key is read`() throws {
        let settings = try read(
            """
            # a comment
            [web]
            listen = [::1]:80
            socket = none
            hosts = Kiosk.example.org, door
            origins = https://kiosk.example.org
            files = /srv/web
            pages = /srv/kiosk
            logLevel = debug
            [tokens]
            secret = /s
            publicKeys = /k
            pushSecret = /p
            audience = door
            [limits]
            connections = 8
            perPeer = 4
            streams = 9
            requestsPerSecond = 5
            """)
        #expect(settings.listen == ListenAddress(address: "::1", port: 80))
        #expect(settings.socket == nil)
        #expect(settings.hosts == ["kiosk.example.org", "door"])
        #expect(settings.origins == ["https://kiosk.example.org"])
        #expect(settings.files == "/srv/web")
        #expect(settings.pages == "/srv/kiosk")
        #expect(
            [settings.secret, settings.publicKeys, settings.pushSecret, settings.audience] == [
                "/s", "/k", "/p", "door",
            ])
        #expect(settings.limits == WebLimits(connections: 8, perPeer: 4, streams: 9, requestsPerSecond: 5))
        #expect(settings.logLevel == .debug)
    }

    @Test(arguments: [
        ("[web]\nlisten = kiosk:80", "web.conf:2: web.listen: 'kiosk:80' is not accepted; it is ADDRESS:PORT"),
        ("[web]\nlisten = ::1:80", "web.conf:2: web.listen"), ("[web]\nsocket = run/sock", "web.conf:2: web.socket"),
        ("[web]\norigins = kiosk", "web.conf:2: web.origins"),
        ("[limits]\nconnections = 0", "web.conf:2: limits.connections: '0' is not accepted; it is 1 to 10000"),
        ("listen = none", "web.conf:1: [] listen: there is no such key; accepted: [web] listen"),
        ("[metrics]", "web.conf:1: [metrics] is no section; accepted: web, tokens"),
        ("[web]\nlisten", "web.conf:2: 'listen' is no entry"),
        (
            "[web]\nlisten = none\nlisten = none",
            "web.conf:3: listen is given a second time; keep one of this and line 2"
        ),
    ])
    func `a wrong line is named, with what is accepted`(text: String, message: String) {
        #expect(refusal(text).hasPrefix(message), "\(refusal(text))")
    }

    @Test func `the log's level has its earlier name as well`() throws {
        #expect(try read("[log]\nlevel = debug").logLevel == .debug)
        #expect(refusal("[web]\nlogLevel = loud").hasPrefix("web.conf:2: web.logLevel: 'loud' is not accepted"))
    }

    @Test func `arguments override the file`() throws {
        let arguments = try Arguments(["--listen", "none", "--bus", "session", "--foreground"])
        var settings = WebSettings()
        try arguments.apply(to: &settings)
        #expect(settings.listen == nil)
        #expect(arguments.bus == "session")
        #expect(arguments.isForeground)
        #expect(throws: SettingsError.self) { try Arguments(["--port", "80"]) }
        #expect(throws: SettingsError.self) { try Arguments(["--listen"]) }
    }

    @Test func `requests of one peer are limited, those of another are not`() {
        var rate = RateLimit(perSecond: 2)
        let (one, other) = (WebPeer.network(address: "127.0.0.1"), WebPeer.local(user: 0, isMember: true))
        let start = Instant(nanoseconds: 0)
        for _ in 0..<6 { #expect(rate.request(of: one, at: start) == 0) }
        #expect(rate.request(of: one, at: start) == 1)
        #expect(rate.request(of: other, at: start) == 0)
        #expect(rate.request(of: one, at: start.advanced(by: .milliseconds(500))) == 0)
        #expect(rate.request(of: one, at: start.advanced(by: .milliseconds(500))) == 1)
    }
}
