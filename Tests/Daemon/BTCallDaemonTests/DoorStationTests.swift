import BTCall
import BaresipControl
import BluetoothTypes
import Configuration
import ControlLoop
import Foundation
import TestSupport
import Testing

extension DaemonTests {
    /// Examples/door-station with two real baresip, a simulated headset, and files for the bell and the relay.
    @Suite @ControlPlane struct DoorStationTests {
        private nonisolated static let example = Page.root.appending(path: "Examples/door-station")

        /// The example's program, with its own configuration but for what differs from door to door.
        @ControlPlane private final class Station {
            let folder = FileManager.default.temporaryDirectory.appending(path: "btcall-door-\(UUID().uuidString)")
            private let program: URL
            var opened: Int { lines("relay").count }

            init(dials flat: String, listen: Int, control: Int) throws {
                program = folder.appending(path: "door.py")
                try FileManager.default.createDirectory(
                    at: folder.appending(path: "bin"), withIntermediateDirectories: true)
                var text = try String(
                    contentsOf: DoorStationTests.example.appending(path: "door.conf"), encoding: .utf8)
                let path = folder.path()
                for (key, value) in [
                    ("relay", "sh -c 'echo opened >>\(path)/relay'"), ("code", "5#"), ("socket", "\(path)/open"),
                    ("command", "sh -c 'until rm \(path)/bell; do sleep 0.1; done 2>/dev/null'"), ("dial", flat),
                    ("listen", "127.0.0.1:\(listen)"), ("control", "127.0.0.1:\(control)"),
                ] {
                    let lines = text.split(separator: "\n", omittingEmptySubsequences: false)
                    try #require(lines.count { $0.hasPrefix("\(key) = ") } == 1, "door.conf has \(key)")
                    text = lines.map { $0.hasPrefix("\(key) = ") ? "\(key) = \(value)" : $0 }.joined(separator: "\n")
                }
                try text.write(to: folder.appending(path: "door.conf"), atomically: true, encoding: .utf8)
                // Where the installed one has its configuration in a place of its own.
                let script = """
                    #!/bin/sh
                    exec '\(DoorStationTests.example.path())/door.py' --config '\(path)/door.conf' "$@"
                    """
                try script.write(to: program, atomically: true, encoding: .utf8)
                try FileManager.default.setAttributes([.posixPermissions: 0o755], ofItemAtPath: program.path())
            }

            deinit { try? FileManager.default.removeItem(at: folder) }  // A folder in the temporary one may stay.

            /// The buttons of the example's btcalld.conf, with this program.
            func buttons() throws -> [ButtonGesture: ButtonAction] {
                let text = try String(
                    contentsOf: DoorStationTests.example.appending(path: "btcalld.conf"), encoding: .utf8)
                let installed = "/usr/local/libexec/door.py"
                try #require(text.contains(installed))
                return try Configuration(
                    text: text.replacing(installed, with: program.path()), name: "btcalld.conf"
                ).buttons
            }

            /// Starts it, with the `btcall` of this build.
            func start(_ box: Box) throws -> RunningProgram {
                try FileManager.default.createSymbolicLink(
                    atPath: folder.appending(path: "bin/btcall").path(), withDestinationPath: Program(box.address).path)
                return try RunningProgram(
                    "/usr/bin/env", ["PATH=\(folder.path())/bin:/usr/bin:/bin", program.path()], box.address)
            }

            func ring() throws { try Data().write(to: folder.appending(path: "bell")) }

            private func lines(_ file: String) -> [Substring] {
                // Without the file the door was not opened yet.
                let text = try? String(contentsOf: folder.appending(path: file), encoding: .utf8)
                return (text ?? "").split(separator: "\n")
            }
        }

        /// All that takes part.
        private struct Site {
            let box: Box
            let flat: Softphone
            /// The station's own baresip.
            let own: Softphone
            let station: Station
            let door: RunningProgram
            let headset: RawHeadset
        }

        private func run(body: @ControlPlane (Site) async throws -> Void) async throws {
            let flat = try await Softphone("Flat", user: "flat")
            defer { flat.kill() }
            let own = try await Softphone("Front door", user: "door", proxy: flat)
            defer { own.kill() }
            let listen = own.controlPort + 1
            let station = try Station(dials: flat.uri, listen: listen, control: own.controlPort)
            let buttons = try station.buttons()
            try await Box.run(
                configure: { $0.buttons = buttons },
                body: { box in
                    let door = try station.start(box)
                    try await eventually("the door is served") { door.output.contains("the door is served") }
                    let follower = try Program(box.address, ["btcall-baresip"]).start(
                        "--config", Self.example.appending(path: "baresip.conf").path(), "--control",
                        "127.0.0.1:\(listen)", "--foreground")
                    try await following(box, 1)
                    try await body(
                        Site(
                            box: box, flat: flat, own: own, station: station, door: door,
                            headset: try await box.establishedHeadset()))
                    follower.terminate()
                    door.terminate()
                    #expect(try await door.status() == 0)
                })
        }

        private func following(_ box: Box, _ times: Int) async throws {
            try await eventually("baresip is a provider") {
                box.log.containing("baresip registered as call provider").count == times
            }
        }

        private func noCall(_ box: Box) async throws {
            try await eventually("there is no call") { try await box.bridge.calls.list().isEmpty }
        }

        private func call(_ box: Box, is state: Call.State) async throws -> Call {
            var found: Call?
            try await eventually("there is a call, which is \(state)") {
                found = try await box.bridge.calls.list().first
                return found?.state == state
            }
            return try #require(found)
        }

        @Test func `The bell calls the flat with video, and the flat opens the door by its code and by nothing else`()
            async throws
        {
            try await run { site in
                try site.station.ring()
                try await site.flat.hear(.incoming)
                _ = try await call(site.box, is: .alerting)
                try await eventually("it is a video call") {
                    try await site.box.bridge.calls.list().first?.media.video == .sendOnly
                }
                site.flat.command("accept")
                _ = try await call(site.box, is: .active)
                site.flat.command("sndcode", "51#")
                site.flat.command("sndcode", "15#")
                try await eventually("the door is opened") { site.station.opened == 1 }
                #expect(site.door.lines.filter { $0.hasPrefix("the door is opened") }.count == 1)
                site.flat.command("hangup")
                try await noCall(site.box)
            }
        }

        @Test func `Two presses of a headset's button open the door, in a call and without one; one press does not`()
            async throws
        {
            try await run { site in
                site.headset.say("AT+CKPD=200")
                try site.station.ring()
                try await site.flat.hear(.incoming)
                site.flat.command("accept")
                _ = try await call(site.box, is: .active)
                #expect(site.station.opened == 0)
                site.headset.say("AT+CKPD=200", "AT+CKPD=200")
                try await eventually("the door is opened") { site.station.opened == 1 }
                #expect(try await site.box.bridge.calls.list().map(\.state) == [.active])
                site.flat.command("hangup")
                try await noCall(site.box)
                site.headset.say("AT+CKPD=200", "AT+CKPD=200")
                try await eventually("the door is opened again") { site.station.opened == 2 }
                #expect(site.door.lines.filter { $0 == "the door is opened: by a button" }.count == 2)
            }
        }

        @Test func `A baresip that ends and comes back is followed again, through the door's program`() async throws {
            try await run { site in
                site.own.kill()
                try await eventually("it is missed") { site.door.output.contains("baresip cannot be reached") }
                let next = try await Softphone("Front door", user: "door", like: site.own, proxy: site.flat)
                defer { next.kill() }
                try await following(site.box, 2)
                try site.station.ring()
                try await site.flat.hear(.incoming)
                site.flat.command("hangup")
                try await noCall(site.box)
            }
        }

        @Test func `The configurations of btcalld and btcall-baresip are accepted`() async throws {
            let text = try String(contentsOf: Self.example.appending(path: "btcalld.conf"), encoding: .utf8)
            #expect(try Configuration(text: text, name: "btcalld.conf").buttons.count == 2)
            try await Box.run { box in
                let path = Self.example.appending(path: "baresip.conf").path()
                let said = try await Program(box.address, ["btcall-baresip"])("--check", path)
                #expect(said.status == 0, "\(said.text)")
            }
        }
    }
}
