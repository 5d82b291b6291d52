import AudioDSP
import CBTCall
import Glibc
import TestSupport
import Testing

@testable import AudioEngine

/// A descriptor that a client passes with its samples to block the receiver.
@Suite struct ForeignDescriptorTests {
    /// A socket whose last close takes a day: the other end of its connection does not read.
    private struct Lingering {
        let descriptor: Int32
        private let peer: Int32
        private let listener: Int32

        init() throws {
            let listener = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
            var address = sockaddr_in()
            address.sin_family = sa_family_t(AF_INET)
            address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
            var length = socklen_t(MemoryLayout<sockaddr_in>.size)
            let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
            (self.listener, self.descriptor) = (listener, descriptor)
            let made = withUnsafeMutablePointer(to: &address) { pointer in
                pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { generic in
                    bind(listener, generic, length) == 0 && listen(listener, 1) == 0
                        && getsockname(listener, generic, &length) == 0 && connect(descriptor, generic, length) == 0
                }
            }
            try #require(made)
            peer = accept(listener, nil, nil)
            try #require(peer >= 0)
            let block = [UInt8](repeating: 0, count: 65_536)
            while send(descriptor, block, block.count, Int32(MSG_DONTWAIT)) > 0 {}
            var wait = linger(l_onoff: 1, l_linger: 86_400)
            try #require(
                setsockopt(descriptor, SOL_SOCKET, SO_LINGER, &wait, socklen_t(MemoryLayout<linger>.size)) == 0)
        }

        /// The connection is reset: a blocked close continues.
        func end() {
            close(peer)
            close(listener)
        }
    }

    private func pair(_ kind: __socket_type) throws -> (ours: Int32, theirs: Int32) {
        var ends: [Int32] = [-1, -1]
        try #require(socketpair(AF_UNIX, Int32(kind.rawValue), 0, &ends) == 0)
        return (ends[0], ends[1])
    }

    private func pass(_ descriptor: Int32, over socket: Int32, bytes: Int) {
        let block = [UInt8](repeating: 0, count: bytes)
        #expect(btcall_send_descriptors(socket, block, bytes, [descriptor], 1, Int32(MSG_NOSIGNAL)) == bytes)
    }

    /// A pipe whose writing end was sent with a message: at its end once the receiver has closed it.
    private func passPipe(over socket: Int32) throws -> Int32 {
        var ends: [Int32] = [-1, -1]
        try #require(pipe(&ends) == 0)
        pass(ends[1], over: socket, bytes: 320)
        close(ends[1])
        return ends[0]
    }

    private func isAtEnd(_ pipe: Int32, wait: Int32) -> Bool {
        var state = pollfd(fd: pipe, events: Int16(POLLIN), revents: 0)
        return poll(&state, 1, wait) == 1
    }

    @Test(arguments: [SOCK_SEQPACKET, SOCK_STREAM])
    func `samples are read up to those that bring a descriptor, which stays where it is`(
        kind: __socket_type
    ) throws {
        let ends = try pair(kind)
        var block = [UInt8](repeating: 1, count: 1_024)
        #expect(send(ends.theirs, block, 320, 0) == 320)
        let pipe = try passPipe(over: ends.theirs)
        let receive = kind == SOCK_STREAM ? btcall_receive_part : btcall_receive_block
        // The kernel examines one part of a stream more than requested.
        if kind == SOCK_SEQPACKET { #expect(receive(ends.ours, &block, 320) == 320) }
        #expect(receive(ends.ours, &block, 320) == -Int(EBADMSG))
        #expect(!isAtEnd(pipe, wait: 0))
        btcall_close_peer(ends.ours)
        #expect(isAtEnd(pipe, wait: -1))
        close(pipe)
        close(ends.theirs)
    }

    @Test func `a message without room is cut, and the next one is complete`() throws {
        let ends = try pair(SOCK_SEQPACKET)
        var block = [UInt8](repeating: 1, count: 400)
        #expect(send(ends.theirs, block, 400, 0) == 400)
        #expect(send(ends.theirs, block, 320, 0) == 320)
        #expect(btcall_receive_block(ends.ours, &block, 322) == 400)
        #expect(btcall_receive_block(ends.ours, &block, 322) == 320)
        #expect(btcall_receive_block(ends.ours, &block, 322) == -Int(EAGAIN))
        close(ends.theirs)
        #expect(btcall_receive_block(ends.ours, &block, 322) == 0)
        btcall_close_peer(ends.ours)
    }

    @Test(arguments: [SOCK_SEQPACKET, SOCK_STREAM])
    func `a socket full of lingering descriptors is closed at once, also behind empty messages`(
        kind: __socket_type
    ) throws {
        let lingering = try Lingering()
        let ends = try pair(kind)
        var byte: UInt8 = 0
        for _ in 0..<8 where kind == SOCK_SEQPACKET { #expect(send(ends.theirs, &byte, 0, 0) == 0) }
        pass(lingering.descriptor, over: ends.theirs, bytes: 1)
        close(lingering.descriptor)
        btcall_close_peer(ends.ours)
        #expect(send(ends.theirs, &byte, 1, Int32(MSG_NOSIGNAL)) == -1)
        #expect(btcall_closes_waiting() > 0)
        lingering.end()
        close(ends.theirs)
    }

    @Test func `a call whose provider passes a descriptor ends`() throws {
        let bench = try EngineBench()
        let ends = try pair(SOCK_SEQPACKET)
        let pipe = try passPipe(over: ends.theirs)
        try bench.engine.attachCall(1, descriptor: ends.ours, rate: 16_000, active: true)
        #expect(bench.wait { $0 == .callClosed(1, code: EBADMSG) } != nil)
        #expect(bench.waitUntil { isAtEnd(pipe, wait: 0) })
        bench.engine.stop()
        close(pipe)
        close(ends.theirs)
    }
}
