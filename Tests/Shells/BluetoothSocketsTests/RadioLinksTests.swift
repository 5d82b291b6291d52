import BluetoothSockets
import BluetoothTypes
import ControlLoop
import TestSupport
import Testing

@Suite struct RadioLinksTests {
    private let address = BluetoothAddress(value: 0x001B_DC08_0011)
    private let octets: [UInt8] = [0x11, 0x00, 0x08, 0xDC, 0x1B, 0x00]

    private func complete(_ handle: UInt16, status: UInt8 = 0, kind: UInt8 = 1) -> [UInt8] {
        [4, 3, 11, status, UInt8(handle & 0xFF), UInt8(handle >> 8)] + octets + [kind, 0]
    }

    private func end(_ handle: UInt16, _ reason: UInt8, status: UInt8 = 0) -> [UInt8] {
        [4, 5, 4, status, UInt8(handle & 0xFF), UInt8(handle >> 8), reason]
    }

    @Test func `the end of a link has the address of its beginning, once`() {
        var links = RadioLinks()
        #expect(links.received(complete(0x0B)) == nil)
        #expect(links.received(end(0x0C, 0x08)) == nil)
        #expect(links.received(end(0x0B, 0x08)) == .init(address: address, reason: 0x08))
        #expect(links.received(end(0x0B, 0x08)) == nil && links.count == 0)
    }

    @Test func `failed attempts, voice links and a failed end are not counted`() {
        var links = RadioLinks()
        #expect(links.received(complete(1, status: 4)) == nil)
        #expect(links.received(complete(2, kind: 0)) == nil)
        #expect(links.count == 0)
        #expect(links.received(complete(3)) == nil)
        #expect(links.received(end(3, 0x16, status: 0x0C)) == nil)
        #expect(links.received(end(3, 0x16))?.reason == 0x16)
    }

    @Test func `existing links are read from the kernel's list`() {
        var links = RadioLinks()
        let entry = [0x2A, 0x00] + octets + [1, 1, 1, 0, 0, 0, 0, 0]
        let voice = [0x2B, 0x00] + octets + [0, 1, 1, 0, 0, 0, 0, 0]
        links.addList([0, 0, 2, 0] + entry + voice)
        #expect(links.count == 1)
        #expect(links.received(end(0x2A, 0x13)) == .init(address: address, reason: 0x13))
        links.addList([])
        links.addList([0, 0, 9, 0] + entry)
        #expect(links.count == 1)
    }

    @Test func `packets that are too short, or of another kind, are ignored`() {
        var links = RadioLinks()
        for packet in [complete(7), end(7, 8)] {
            for length in 0..<packet.count { #expect(links.received(Array(packet[..<length])) == nil) }
        }
        #expect(links.count == 0)
        #expect(links.received([2, 3, 11] + complete(7)[3...]) == nil)
        #expect(links.received([4, 3, 2, 0, 7] + complete(7)[5...]) == nil)
        #expect(links.received([4, 5, 1, 0, 7, 0, 8]) == nil)
        #expect(links.count == 0)
    }

    @Test func `random packets do no harm`() {
        var generator = SeededGenerator(seed: 5)
        var links = RadioLinks()
        for _ in 0..<20_000 {
            var packet = (0..<Int.random(in: 0..<40, using: &generator)).map { _ in
                UInt8.random(in: 0...255, using: &generator)
            }
            if packet.count > 2 {
                packet[0] = 4
                packet[1] = Bool.random(using: &generator) ? 3 : 5
                if Bool.random(using: &generator) { packet[2] = UInt8(packet.count - 3) }
            }
            _ = links.received(packet)
            links.addList(packet)
        }
        #expect(links.count <= 256)
    }

    @Test @ControlPlane func `missing controllers are reported with the kernel's error`() {
        let monitor = RadioLinkMonitor()
        let failures = monitor.follow(["hci999", "nonsense"])
        #expect(failures.count == 2 && failures["nonsense"]?.call == "open nonsense")
        #expect(monitor.follow([]).isEmpty)
        monitor.stop()
    }
}
