import BTCall
import BTCallAPI
import BTCallDaemon
import BaresipControl
import CBTCall
import CallControl
import Configuration
import ControlLoop
import DBus
import Foundation
import Glibc
import Routing
import TestSupport
import Testing

extension DaemonTests {
    /// The program btcall-baresip between a daemon and a real baresip, which another real baresip calls over loopback.
    @Suite @ControlPlane struct BaresipTests {
        private static let number = "+4930123"

        /// - Parameters:
        ///   - video: value of the key `video` of btcall-baresip; nil leaves the shipped file as it is.
        ///   - body: gets the other party, the followed baresip, and the program that follows it.
        private func run(
            video: String? = nil,
            body:
                @ControlPlane (
                    _ box: Box, _ far: Softphone, _ own: Softphone, _ program: RunningProgram
                ) async throws -> Void
        ) async throws {
            let far = try await Softphone("Ann", user: Self.number)
            defer { far.kill() }
            let own = try await Softphone("board", user: "board", proxy: far)
            defer { own.kill() }
            try await Box.run { box in
                let program = try start(box, own.controlPort, video: video)
                try await following(box)
                try await body(box, far, own, program)
            }
        }

        private func start(_ box: Box, _ port: Int, video: String? = nil) throws -> RunningProgram {
            var file = Page.root.appending(path: "etc/baresip.conf")
            if let video {
                file = FileManager.default.temporaryDirectory.appending(path: "btcall-\(UUID().uuidString).conf")
                try "video = \(video)\n".write(to: file, atomically: false, encoding: .utf8)
            }
            return try Program(box.address, ["btcall-baresip"]).start(
                "--config", file.path(), "--control", "127.0.0.1:\(port)", "--foreground")
        }

        private func following(_ box: Box, _ times: Int = 1) async throws {
            try await eventually("baresip is a provider") {
                box.log.containing("baresip registered as call provider").count == times
            }
        }

        private func call(
            _ box: Box, is state: Call.State, sourceLocation: SourceLocation = #_sourceLocation
        ) async throws -> Call {
            var found: Call?
            try await eventually("there is a call, which is \(state)", sourceLocation: sourceLocation) {
                found = try await box.bridge.calls.list().first
                return found?.state == state
            }
            return try #require(found)
        }

        private func noCall(_ box: Box, sourceLocation: SourceLocation = #_sourceLocation) async throws {
            try await eventually("there is no call", sourceLocation: sourceLocation) {
                try await box.bridge.calls.list().isEmpty
            }
        }

        private func ask(_ box: Box, _ call: Call, _ member: String, _ arguments: [Value]) async throws {
            _ = try await box.client.call(
                BTCallName.bus, BTCallPath.call("\(call.id)"), BTCallName.Interface.call, member, arguments)
        }

        private func place(_ box: Box, _ number: String) async throws {
            _ = try await box.client.call(
                BTCallName.bus, BTCallPath.calls, BTCallName.Interface.calls, BTCallName.Calls.place,
                [.string(number), .vardict([:])])
        }

        @Test func `An incoming call has name and number; it is answered, held, resumed, muted, sent tones and ended`()
            async throws
        {
            try await run { box, far, own, _ in
                far.command("dial", own.uri)
                let call = try await call(box, is: .ringing)
                #expect(call.number == Self.number)
                #expect(call.name == "Ann")
                #expect(call.provider == "baresip")
                #expect(call.direction == .incoming)
                try await box.bridge.calls.answer(call.id)
                // The answer completes when baresip reports the call as established.
                #expect(try await box.bridge.calls.list().map(\.state) == [.active])
                try await far.hear(.established)
                far.forget()
                try await ask(box, call, BTCallName.Call.setHeld, [.bool(true)])
                #expect(try await box.bridge.calls.list().map(\.state) == [.held])
                try await far.hear(.remoteDescription, "offer")
                far.forget()
                try await ask(box, call, BTCallName.Call.setHeld, [.bool(false)])
                #expect(try await box.bridge.calls.list().map(\.state) == [.active])
                try await far.hear(.remoteDescription, "offer")
                try await ask(box, call, BTCallName.Call.sendDTMF, [.string("5#")])
                try await far.hear(.toneBegan, "5")
                try await far.hear(.toneBegan, "#")
                let path = BTCallPath.call("\(call.id)")
                let owner = try #require(box.daemon.calls.record(at: path)?.provider)
                // Muting twice: baresip toggles, but here it is a state.
                for isMuted in [true, true, false] { try await owner.setMuted(path, isMuted) }
                try await box.bridge.calls.hangup(call.id)
                #expect(try await box.bridge.calls.list().isEmpty)
                try await far.hear(.closed)
            }
        }

        @Test func `With the key video each call is a video call, and only its direction to the far end can change`()
            async throws
        {
            try await run(video: "sendReceive") { box, far, own, _ in
                far.command("dial", own.uri)
                let ringing = try await call(box, is: .ringing)
                #expect(ringing.hasVideo && ringing.media.video == .sendReceive)
                try await box.bridge.calls.answer(ringing.id)
                func set(_ direction: String) async throws {
                    try await ask(
                        box, ringing, BTCallName.Call.setMedia, [.vardict(["video": .string(direction)])])
                }
                try await set("receiveOnly")
                #expect(try await box.bridge.calls.list().map(\.media.video) == [.receiveOnly])
                let refusal = try await #require(throws: BusError.self) { try await set("sendOnly") }
                #expect("\(refusal)".contains("only the direction to the far end can change"), "\(refusal)")
                try await box.bridge.calls.hangup(ringing.id)
                try await noCall(box)
                // Dialled without video: baresip sends and receives it anyway.
                try await place(box, Self.number)
                try await eventually("the dialled call has video") {
                    try await box.bridge.calls.list().first?.media.video == .sendReceive
                }
            }
        }

        @Test func `Without the key video no call of baresip has video, and none can get it`() async throws {
            try await run { box, far, own, _ in
                far.command("dial", own.uri)
                let ringing = try await call(box, is: .ringing)
                #expect(!ringing.hasVideo && ringing.media.video == .off)
                try await box.bridge.calls.answer(ringing.id)
                await #expect(throws: BusError.self) {
                    try await ask(
                        box, ringing, BTCallName.Call.setMedia, [.vardict(["video": .string("sendReceive")])])
                }
            }
        }

        @Test func `The other party can end a call before and after the answer`() async throws {
            try await run { box, far, own, _ in
                far.command("dial", own.uri)
                _ = try await call(box, is: .ringing)
                far.command("hangup")
                try await noCall(box)
                try await eventually("it was missed") { !box.log.containing("ended, missed").isEmpty }
                far.command("dial", own.uri)
                let second = try await call(box, is: .ringing)
                try await box.bridge.calls.answer(second.id)
                far.command("hangup")
                try await noCall(box)
                try await eventually("it hung up") { !box.log.containing("ended, remoteHangUp").isEmpty }
                far.command("dial", own.uri)
                let third = try await call(box, is: .ringing)
                far.forget()
                try await box.bridge.calls.hangup(third.id)
                try await far.hear(.closed, "486 Rejected")
            }
        }

        @Test func `A placed call rings at baresip, becomes active when answered, and can be ended here`() async throws
        {
            try await run { box, far, _, _ in
                try await place(box, Self.number)
                try await far.hear(.incoming)
                let ringing = try await call(box, is: .alerting)
                #expect(ringing.number == Self.number)
                far.command("accept")
                let up = try await call(box, is: .active)
                #expect(up.direction == .outgoing)
                far.forget()
                try await box.bridge.calls.hangup(up.id)
                try await far.hear(.closed)
                try await place(box, far.uri)
                _ = try await call(box, is: .alerting)
                far.command("hangup")
                try await noCall(box)
                try await eventually("it is busy") { !box.log.containing("ended, busy").isEmpty }
            }
        }

        @Test func `A call ends with its baresip, and the next baresip is found`() async throws {
            try await run { box, far, own, program in
                far.command("dial", own.uri)
                let first = try await call(box, is: .ringing)
                try await box.bridge.calls.answer(first.id)
                own.kill()
                try await noCall(box)
                #expect(!box.log.containing("ended, providerGone").isEmpty)
                let place = "127.0.0.1:\(own.controlPort)"
                #expect(program.errors.ranges(of: "baresip at \(place) cannot be reached").count == 1)
                // No provider can dial any more.
                await #expect(throws: BusError.self) { try await self.place(box, "1") }
                let next = try await Softphone("board", user: "board", like: own, proxy: far)
                defer { next.kill() }
                try await following(box, 2)
                far.command("dial", next.uri)
                _ = try await call(box, is: .ringing)
            }
        }

        @Test func `A restarted daemon takes over a call that is up`() async throws {
            try await run { box, far, own, program in
                far.command("dial", own.uri)
                let first = try await call(box, is: .ringing)
                try await box.bridge.calls.answer(first.id)
                try await box.restartDaemon()
                let call = try await call(box, is: .active)
                #expect(call.number == Self.number && call.name == "Ann" && call.direction == .incoming)
                #expect(program.errors.contains("btcalld has gone, or has been deactivated"))
                far.forget()
                try await box.bridge.calls.hangup(call.id)
                try await far.hear(.closed)
            }
        }

        @Test func `Calls continue while the bridge is deactivated, and return when it is active again`() async throws {
            try await run { box, far, own, _ in
                far.command("dial", own.uri)
                let first = try await call(box, is: .ringing)
                try await box.bridge.calls.answer(first.id)
                far.forget()
                try await box.bridge.deactivate()
                try await noCall(box)
                try await box.bridge.activate()
                let second = try await call(box, is: .active)
                #expect(!far.events.contains { $0.kind == .closed })
                try await box.bridge.calls.hangup(second.id)
                try await far.hear(.closed)
            }
        }

        @Test func `A call outlives the killed program, and its successor takes it over`() async throws {
            try await run { box, far, own, program in
                far.command("dial", own.uri)
                let first = try await call(box, is: .ringing)
                try await box.bridge.calls.answer(first.id)
                far.forget()
                program.kill()
                try await noCall(box)
                #expect(!box.log.containing("ended, providerGone").isEmpty)
                let next = try start(box, own.controlPort)
                let second = try await call(box, is: .active)
                #expect(!far.events.contains { $0.kind == .closed })
                next.terminate()
                #expect(try await next.status() == 0)
                try await noCall(box)
                #expect(!far.events.contains { $0.kind == .closed })
                _ = second
            }
        }

        @Test func `A call outlives a restart of the bus, and its changes meanwhile are reported`() async throws {
            try await run { box, far, own, _ in
                far.command("dial", own.uri)
                let first = try await call(box, is: .ringing)
                try await box.bridge.calls.answer(first.id)
                box.stopBus()
                try await eventually("the daemon has lost the bus") { !box.connection.isConnected }
                #expect(box.daemon.calls.calls.map(\.uuid) == ["\(first.id)"])
                far.command("hangup")
                try box.startBus()
                try await eventually("the call has ended", within: .seconds(20)) { box.daemon.calls.calls.isEmpty }
                #expect(!box.log.containing("ended, remoteHangUp").isEmpty)
                far.command("dial", own.uri)
                _ = try await call(box, is: .ringing)
            }
        }

        @Test func `A program started before baresip and btcalld waits for both`() async throws {
            let far = try await Softphone("Ann", user: Self.number)
            defer { far.kill() }
            let own = try await Softphone("board", user: "board", proxy: far)
            own.kill()
            var program: RunningProgram?
            func startProgram(_ box: Box) async throws {
                program = try start(box, own.controlPort)
                try await eventually("it waits for btcalld") {
                    program?.errors.contains("btcalld is not active: waiting for it") ?? false
                }
            }
            try await Box.run(prepare: startProgram) { box in
                try await eventually("it looks for baresip") { program?.errors.contains("cannot be reached") ?? false }
                #expect(box.log.containing("baresip registered").isEmpty)
                let next = try await Softphone("board", user: "board", like: own, proxy: far)
                defer { next.kill() }
                try await following(box)
                far.command("dial", next.uri)
                _ = try await call(box, is: .ringing)
                program = nil
            }
        }

        @Test func `Another program on the port is reported and left alone`() async throws {
            let type = Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue) | Int32(SOCK_NONBLOCK.rawValue)
            let listener = socket(AF_INET, type, 0)
            defer { close(listener) }
            var address = sockaddr_in()
            address.sin_family = sa_family_t(AF_INET)
            address.sin_addr.s_addr = INADDR_LOOPBACK.bigEndian
            var length = socklen_t(MemoryLayout<sockaddr_in>.size)
            withUnsafeMutablePointer(to: &address) { pointer in
                pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                    _ = bind(listener, $0, length)
                    _ = listen(listener, 4)
                    _ = getsockname(listener, $0, &length)
                }
            }
            let port = Int(UInt16(bigEndian: address.sin_port))
            try await Box.run { box in
                let program = try start(box, port)
                var peer: Int32 = -1
                defer { close(peer) }
                try await eventually("it connects") {
                    peer = accept(listener, nil, nil)
                    return peer >= 0
                }
                _ = write(peer, "SSH-2.0-x\r\n", 11)
                try await eventually("it is reported") { program.errors.contains("is not baresip's ctrl_tcp") }
                #expect(!program.errors.contains("following baresip"))
                // No provider can dial through it.
                await #expect(throws: BusError.self) { try await place(box, "1") }
            }
        }
    }
}
