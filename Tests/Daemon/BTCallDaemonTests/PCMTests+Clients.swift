import AudioPaths
import BTCall
import BTCallBench
import BTCallDaemon
import CBTCall
import Configuration
import ControlLoop
import Foundation
import TestSupport
import Testing

/// Messages of PCM clients, and the socket they use.
extension DaemonTests.PCMTests {
    // MARK: Messages of clients

    @Test func `a hello that is refused gets the reason and what is accepted`() async throws {
        try await run { box, path in
            let cases: [(Int32, String, (inout btcall_pcm_hello) -> Void)] = [
                (EPROTO, "no hello", { $0.magic = 1 }),
                (EPROTONOSUPPORT, "version 2", { $0.version = 2 }),
                (EINVAL, "role 4", { $0.role = 4 }),
                (EINVAL, "direction 2", { $0.direction = 2 }),
                (EINVAL, "only from btcall:call", { ($0.role, $0.direction) = (1, 1) }),
                (EINVAL, "format 2", { $0.format = 2 }),
                (EINVAL, "0 channels", { $0.channels = 0 }),
                (EINVAL, "3 channels", { $0.channels = 3 }),
                (EINVAL, "accepted: 8000, 16000", { $0.rate = 22_050 }),
                (EINVAL, "accepted: 8000, 16000", { $0.rate = .max }),
                (EINVAL, "accepted: 160–24000", { $0.period_frames = 0 }),
                (EINVAL, "accepted: 160–24000", { $0.period_frames = .max }),
                (EINVAL, "accepted: 320–48000", { $0.buffer_frames = 319 }),
                (EINVAL, "accepted: 320–48000", { $0.buffer_frames = .max }),
            ]
            for (code, reason, change) in cases {
                var hello = PCMClient.hello(BTCALL_PCM_CALL)
                change(&hello)
                let client = try PCMClient(path, hello)
                try await eventually("\(reason) is answered") { client.isAnswered() }
                #expect(client.answer?.error == code, "\(reason)")
                #expect(client.reason.contains(reason), "\(client.reason)")
                try await eventually("\(reason) is closed") { client.isGone() }
            }
            _ = try await open(path)
        }
    }

    @Test func `other clients are served, whatever one sends`() async throws {
        try await run { box, path in
            var generator = SeededGenerator(seed: 7)
            let (first, _) = try await open(path)
            for _ in 0..<200 {
                let client = try PCMClient(path, PCMClient.hello(BTCALL_PCM_CALL))
                switch generator.below(4) {
                case 0: client.send((generator.next(), generator.next(), generator.next()))
                case 1: client.send(btcall_pcm_message(kind: UInt32(generator.below(5)), element: 9, value: -1))
                case 2: client.send(PCMClient.hello(BTCALL_PCM_CONTROL))
                default: client.send(generator.next())
                }
                if generator.below(2) == 0 { client.close() }
                await ControlLoop.shared.sleep(for: .zero)
            }
            try await eventually("only the first is left") { !first.isGone() }
            let (client, ring) = try await open(path)
            client.send(BTCALL_PCM_START)
            client.send(BTCALL_PCM_START)
            try await eventually("it runs") { box.daemon.pcm.count(.call) == 1 }
            #expect(ring.hardware == 0)
        }
    }

    @Test func `at most sixteen streams are open`() async throws {
        try await run { box, path in
            var clients: [PCMClient] = []
            for process in Int32(1)...2 {
                box.daemon.pcm.process = { _ in process }
                for _ in 1...8 { clients.append(try await open(path).client) }
            }
            box.daemon.pcm.process = { _ in 3 }
            let late = try PCMClient(path, PCMClient.hello(BTCALL_PCM_CALL))
            try await eventually("it is answered") { late.isAnswered() }
            #expect(late.answer?.error == EBUSY && late.reason.contains("16 streams"))
            clients.removeLast().close()
            try await eventually("one is gone") { box.log.containing("opened btcall").count == 16 }
            try await eventually("there is room") {
                let client = try PCMClient(path, PCMClient.hello(BTCALL_PCM_CALL))
                try await eventually("it is answered") { client.isAnswered() }
                return client.answer?.error == 0
            }
        }
    }

    @Test func `200 opens and closes leave nothing behind`() async throws {
        try await run { box, path in
            func descriptors() throws -> Int {
                try FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd").count
            }
            _ = try await open(path)
            let before = try descriptors()
            for index in 0..<200 {
                let (client, _) = try await open(path, index % 2 == 0 ? BTCALL_PCM_CALL : BTCALL_PCM_PAGE)
                client.send(BTCALL_PCM_START)
                client.close()
            }
            try await eventually("all is given back") { try descriptors() <= before }
            #expect(box.daemon.pcm.count(.call) == 0 && box.daemon.pcm.count(.page) == 0)
        }
    }

    // MARK: The socket

    @Test func `a socket left by another daemon is replaced, and removed with the daemon`() async throws {
        let path = Self.makePath()
        close(try UnixListener.open(path, isBlocking: false))
        try await Box.run(
            configure: { $0.pcmSocket = path },
            body: { box in
                _ = try await open(path)
                var found = stat()
                #expect(stat(path, &found) == 0 && found.st_mode & 0o777 == 0o660)
                #expect(try await box.bridge.status().problems.allSatisfy { $0.id != "pcm" })
            })
        #expect(!FileManager.default.fileExists(atPath: path))
    }

    @Test func `when the socket cannot be created everything else works`() async throws {
        let file = Self.makePath()
        try Data("keep".utf8).write(to: URL(filePath: file))
        defer { try? FileManager.default.removeItem(atPath: file) }
        for path in [file, "/proc/btcall/pcm.sock"] {
            try await Box.run(
                configure: { $0.pcmSocket = path },
                body: { box in
                    let problem = try await box.problem("pcm")
                    #expect(problem.what.contains(path) && problem.remedy.contains("pcmSocket"))
                    let registration = try await box.register()
                    _ = try await box.startCall(registration)
                    try await box.playing("earpiece")
                })
        }
        #expect(try String(contentsOfFile: file, encoding: .utf8) == "keep")
    }

    @Test func `a second daemon leaves the first one's socket alone`() async throws {
        try await run { box, path in
            try await Box.run(
                configure: { $0.pcmSocket = path },
                body: { other in
                    let problem = try await other.problem("pcm")
                    #expect(problem.remedy.contains("stop the other btcalld"))
                }
            )
            _ = try await open(path)
        }
    }
}
