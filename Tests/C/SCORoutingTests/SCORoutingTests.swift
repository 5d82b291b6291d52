import CSCORouting
import Dispatch
import Foundation
import Testing

/// A controller behind a socket that receives HCI commands and answers them like a Broadcom chip.
private final class FakeController: @unchecked Sendable {
    let host: Int32
    private let own: Int32
    private let thread: Thread
    private let done = DispatchSemaphore(value: 0)
    private let lock = NSLock()
    private var received: [[UInt8]] = []

    /// - Parameter answer: returns the events that follow a command.
    init(_ answer: @escaping (FakeController, [UInt8]) -> [[UInt8]]) throws {
        var ends: [Int32] = [-1, -1]
        try #require(socketpair(AF_UNIX, Int32(SOCK_SEQPACKET.rawValue), 0, &ends) == 0)
        (host, own) = (ends[0], ends[1])
        let box = Box()
        thread = Thread {
            box.body?()
            box.body = nil
        }
        box.body = { [weak self, own, done] in
            var bytes = [UInt8](repeating: 0, count: 300)
            while true {
                let count = recv(own, &bytes, bytes.count, 0)
                guard count > 0 else { break }
                guard let self else { break }
                let command = Array(bytes[..<count])
                lock.withLock { received.append(command) }
                for event in answer(self, command) { _ = send(own, event, event.count, Int32(MSG_NOSIGNAL)) }
            }
            done.signal()
        }
        thread.start()
    }

    private final class Box: @unchecked Sendable {
        var body: (() -> Void)?
    }

    var commands: [[UInt8]] { lock.withLock { received } }

    /// Simulates removal.
    func vanish() { shutdown(own, Int32(SHUT_RDWR)) }

    func route(timeout: Int32 = 5_000) -> (outcome: sco_routing_outcome, text: String) {
        var text = [CChar](repeating: 0, count: 320)
        let outcome = sco_routing_to_host(host, timeout, &text, text.count)
        shutdown(host, Int32(SHUT_RDWR))
        done.wait()
        close(host)
        close(own)
        return (outcome, String(decoding: text.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self))
    }
}

private let version: [UInt8] = [1, 0x01, 0x10, 0]
private let read: [UInt8] = [1, 0x1D, 0xFC, 0]

private func write(_ routing: UInt8) -> [UInt8] { [1, 0x1C, 0xFC, 5, routing, 2, 0, 1, 1] }

/// Command Complete with a status of 0.
private func complete(_ command: [UInt8], _ result: [UInt8], status: UInt8 = 0) -> [UInt8] {
    [4, 0x0E, UInt8(4 + result.count), 1, command[1], command[2], status] + result
}

/// HCI version 5.0, revision, LMP version, maker, LMP subversion.
private func made(by maker: UInt16) -> [UInt8] {
    [9, 0, 1, 9, UInt8(truncatingIfNeeded: maker), UInt8(maker >> 8), 0x19, 0x61]
}

private final class Chip: @unchecked Sendable {
    var parameters: [UInt8]
    /// Its answer to the reading of its version.
    var version: [UInt8]
    /// Whether it confirms a change without making it.
    var isStubborn = false
    /// Packets sent before each answer.
    var noise: [[UInt8]] = []

    init(routing: UInt8, maker: UInt16 = 15) {
        parameters = [routing, 2, 0, 1, 1]
        version = made(by: maker)
    }

    func controller() throws -> FakeController {
        try FakeController { [self] _, command in
            switch Array(command.prefix(3)) {
            case [1, 0x01, 0x10]: return noise + [complete(command, version)]
            case [1, 0x1D, 0xFC]: return noise + [complete(command, parameters)]
            case [1, 0x1C, 0xFC]:
                if !isStubborn { parameters = Array(command.suffix(5)) }
                return noise + [complete(command, [])]
            default: return []
            }
        }
    }
}

@Suite struct SCORoutingTests {
    @Test(arguments: [(0, "the PCM pins"), (2, "the chip's own codec"), (3, "the I2S pins"), (9, "an unknown place")])
    func `a controller that sends voice elsewhere is set to the host, and nothing else is changed`(
        routing: UInt8, place: String
    ) throws {
        let chip = Chip(routing: routing)
        let controller = try chip.controller()
        let (outcome, text) = controller.route()
        #expect(outcome == SCO_ROUTING_CHANGED && text == "voice went to \(place) and goes to the host now")
        #expect(controller.commands == [version, read, write(1), read])
        #expect(chip.parameters == [1, 2, 0, 1, 1])
    }

    @Test(arguments: [15, 305] as [UInt16])
    func `a controller that sends voice to the host is left alone`(maker: UInt16) throws {
        let controller = try Chip(routing: 1, maker: maker).controller()
        let (outcome, text) = controller.route()
        #expect(outcome == SCO_ROUTING_FOUND && text == "voice goes to the host already")
        #expect(controller.commands == [version, read])
    }

    @Test(arguments: [0, 2, 10, 13, 14, 16, 29, 304, 0xFFFF] as [UInt16])
    func `a controller of another manufacturer receives no Broadcom command`(maker: UInt16) throws {
        let controller = try Chip(routing: 0, maker: maker).controller()
        let (outcome, text) = controller.route()
        #expect(outcome == SCO_ROUTING_OTHER_MAKER && text.contains("a controller of company \(maker), "))
        #expect(controller.commands == [version])
    }

    @Test func `a change that the controller confirms but does not make is a failure`() throws {
        let chip = Chip(routing: 0)
        chip.isStubborn = true
        let (outcome, text) = try chip.controller().route()
        #expect(outcome == SCO_ROUTING_FAILED && text.hasPrefix("voice still goes to the PCM pins"))
    }

    @Test func `events that do not answer the command are ignored`() throws {
        let chip = Chip(routing: 0)
        chip.noise = [
            // Of another command; a status before completion; no event; cut off; of another event; longer than it says.
            complete([1, 0x03, 0x0C], [7, 7, 7, 7, 7]), [4, 0x0F, 4, 0, 1, 0x1D, 0xFC], [2, 0x0E, 4, 1, 0x1D, 0xFC, 0],
            [4, 0x0E, 4, 1, 0x1D], [4], [4, 0x05, 4, 1, 0x1D, 0xFC, 0], [4, 0x0E, 3, 1, 0x1D, 0xFC, 0, 0],
        ]
        #expect(try chip.controller().route().outcome == SCO_ROUTING_CHANGED)
    }

    @Test(arguments: [false, true])
    func `the failure of a refused command names the HCI status`(byStatusEvent: Bool) throws {
        let chip = Chip(routing: 0)
        let controller = try FakeController { _, command in
            if command[2] == 0x10 { return [complete(command, chip.version)] }
            return [byStatusEvent ? [4, 0x0F, 4, 1, 1, command[1], command[2]] : complete(command, [], status: 1)]
        }
        let (outcome, text) = controller.route()
        #expect(outcome == SCO_ROUTING_FAILED)
        #expect(text.hasPrefix("where voice goes cannot be read: the controller refuses it with HCI status 0x01"))
        #expect(text.contains("devicetree") && controller.commands == [version, read])
    }

    @Test func `answers of a wrong length are not used`() throws {
        let short = Chip(routing: 0)
        short.version.removeLast()
        #expect(try short.controller().route().text == "its maker cannot be read: 7 bytes in place of 8")
        let long = Chip(routing: 0)
        long.parameters.append(0)
        let controller = try long.controller()
        #expect(controller.route().text == "where voice goes cannot be read: 6 bytes in place of 5")
        #expect(controller.commands == [version, read])
    }

    @Test func `a controller that does not answer, or is gone, ends the wait with an error`() throws {
        let silent = try FakeController { _, _ in [] }
        let (outcome, text) = silent.route(timeout: 50)
        #expect(outcome == SCO_ROUTING_FAILED && text.contains("the controller does not answer"))
        let gone = try FakeController { controller, _ in
            controller.vanish()
            return []
        }
        #expect(gone.route().text.contains("the controller is gone"))
    }

    @Test(arguments: ["", "hci", "hci-1", "hci 0", "hci65535", "hci0x", "eth0", "hci99999999999999999999"])
    func `an invalid controller name is refused`(name: String) {
        var text = [CChar](repeating: 0, count: 320)
        #expect(sco_routing_open(name, &text, text.count) == -1)
        let said = String(decoding: text.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
        #expect(said.hasPrefix("'\(name)' is not a controller"), "\(said)")
    }
}
