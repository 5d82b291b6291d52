import BluetoothSockets
import ControlLoop
import Glibc
import TestSupport
import Testing

@Suite @ControlPlane
struct RFCOMMChannelTests {
    enum Event: Equatable, Sendable {
        case bytes(String)
        case closed(RFCOMMChannel.CloseReason)
    }

    let events = EventQueue<Event>()

    func open(_ descriptor: Int32) throws -> RFCOMMChannel {
        let channel = try RFCOMMChannel(descriptor: descriptor)
        channel.onBytes = { [events] in events.push(.bytes(String(decoding: $0, as: UTF8.self))) }
        channel.onClosed = { [events] in events.push(.closed($0)) }
        return channel
    }

    @Test func `bytes from the headset arrive unchanged`() async throws {
        let pair = try SocketPair()
        let channel = try open(pair.ours)
        pair.send("AT+BRSF=")
        #expect(try await events.next() == .bytes("AT+BRSF="))
        pair.send("155\r")
        #expect(try await events.next() == .bytes("155\r"))
        channel.close()
    }

    @Test func `bytes to the headset arrive in order`() async throws {
        let pair = try SocketPair()
        let channel = try open(pair.ours)
        channel.write(Array("\r\nOK\r\n".utf8))
        channel.write(Array("\r\nRING\r\n".utf8))
        #expect(String(decoding: pair.receive(), as: UTF8.self) == "\r\nOK\r\n\r\nRING\r\n")
        #expect(channel.pendingBytes == 0)
        channel.close()
    }

    @Test func `bytes that the headset sent before closing are delivered first`() async throws {
        let events = events
        let channel: RFCOMMChannel
        do {
            let pair = try SocketPair()
            channel = try open(pair.ours)
            pair.send("AT+CHUP\r")
        }
        #expect(try await events.next() == .bytes("AT+CHUP\r"))
        #expect(try await events.next() == .closed(.closedByPeer))
        #expect(!channel.isOpen)
        #expect(channel.descriptor == -1)
    }

    @Test func `a failed write still delivers bytes that the headset sent before`() async throws {
        let channel: RFCOMMChannel
        do {
            let pair = try SocketPair()
            channel = try open(pair.ours)
            pair.send("AT+CHUP\r")
        }
        channel.write(Array("\r\nRING\r\n".utf8))
        #expect(events.pending.isEmpty, "handlers do not run inside write")
        #expect(!channel.isOpen)
        #expect(try await events.next() == .bytes("AT+CHUP\r"))
        #expect(try await events.next() == .closed(.failed(SystemError(call: "send", code: EPIPE))))
    }

    @Test func `a headset that takes nothing fills the bounded buffer, then loses its channel`() async throws {
        let pair = try SocketPair()
        let channel = try open(pair.ours)
        let block = [UInt8](repeating: UInt8(ascii: "x"), count: 1000)
        while channel.isOpen {
            channel.write(block)
            #expect(channel.pendingBytes <= RFCOMMChannel.outputLimit)
        }
        #expect(events.pending.isEmpty, "handlers do not run inside write")
        #expect(try await events.next() == .closed(.outputOverflow))
    }

    @Test func `buffered bytes follow when the headset reads again, none lost and none twice`() async throws {
        let pair = try SocketPair()
        let channel = try open(pair.ours)
        var sent: [UInt8] = []
        var value: UInt8 = 0
        while channel.pendingBytes < RFCOMMChannel.outputLimit / 2 {
            let block = (0..<997).map { _ in
                value = value &* 31 &+ 7
                return value
            }
            sent += block
            channel.write(block)
        }
        var received: [UInt8] = []
        while received.count < sent.count {
            received += pair.receive(4096)
            await turn()
        }
        #expect(received == sent)
        #expect(channel.pendingBytes == 0)
        channel.close()
    }

    @Test func `a channel closed by its owner reports nothing, and the headset sees the end`() async throws {
        let pair = try SocketPair()
        let channel = try open(pair.ours)
        channel.close()
        channel.close()
        channel.write([1])
        #expect(pair.receive().isEmpty)
        await turn()
        #expect(events.pending.isEmpty)
    }

    @Test func `a handler may close the channel`() async throws {
        let pair = try SocketPair()
        let channel = try open(pair.ours)
        channel.onBytes = { [events, weak channel] _ in
            channel?.close()
            events.push(.bytes("closed"))
        }
        pair.send("AT\r")
        #expect(try await events.next() == .bytes("closed"))
        #expect(pair.receive().isEmpty)
    }

    @Test func `a channel that is dropped closes its descriptor`() async throws {
        let pair = try SocketPair()
        do { _ = try open(pair.ours) }
        #expect(pair.receive().isEmpty)
    }

    @Test func `an invalid descriptor is refused`() throws {
        #expect(throws: SystemError(call: "fcntl", code: EBADF)) { try RFCOMMChannel(descriptor: -1) }
    }

    /// Lets the loop handle ready descriptors.
    private func turn() async {
        await withCheckedContinuation { continuation in
            ControlLoop.shared.schedule(after: .milliseconds(1)) { continuation.resume() }
        }
    }
}
