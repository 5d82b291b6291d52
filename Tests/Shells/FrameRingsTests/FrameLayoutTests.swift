import TestSupport
import Testing

@testable import FrameRings

/// Sizes and places, also of headers that somebody else has written.
@Suite struct FrameLayoutTests {
    @Test func `a layout has the planes of I420 one after the other, odd sides rounded up`() throws {
        let layout = try FrameLayout(width: 641, height: 479, framesPerSecond: 29.97)
        #expect(layout.luma == .init(offset: 64, stride: 641, width: 641, height: 479))
        #expect(layout.blue == .init(offset: 64 + 641 * 479, stride: 321, width: 321, height: 240))
        #expect(layout.red.offset == layout.blue.offset + 321 * 240)
        #expect(layout.frameBytes == 641 * 479 + 2 * 321 * 240)
        #expect(layout.rateThousandths == 29_970 && layout.framesPerSecond == 29.97)
        #expect(layout.slotCount == 3 && layout.slotBytes % 4096 == 0)
        #expect(layout.slotBytes >= 64 + layout.frameBytes)
        #expect(layout.memoryBytes == 4096 + 3 * layout.slotBytes)
        #expect([1, 2, 3, 4].map { layout.slot(of: $0) } == [0, 1, 2, 0].map { 4096 + $0 * layout.slotBytes })
    }

    @Test(arguments: [
        (0, 480, 30.0), (640, 0, 30), (-1, 480, 30), (4097, 16, 30), (16, 4097, 30), (4096, 4096, 30), (640, 480, 0),
        (640, 480, -5), (640, 480, 1000.1), (640, 480, .nan), (640, 480, .infinity), (.max, .max, 30),
    ])
    func `a picture that no ring can have is refused`(width: Int, height: Int, rate: Double) {
        #expect(throws: FrameRingError.self) {
            try FrameLayout(width: width, height: height, framesPerSecond: rate)
        }
    }

    @Test func `the header has the bytes that the page names`() throws {
        let layout = try FrameLayout(width: 1280, height: 720, framesPerSecond: 30)
        let header = layout.header
        #expect(header.count == 4096)
        #expect(Array(header[0..<4]) == Array("BTVR".utf8) && Array(header[16..<20]) == Array("I420".utf8))
        func number(_ place: Int) -> Int {
            (0..<4).reduce(0) { $0 | Int(header[place + $1]) << (8 * $1) }
        }
        #expect([4, 8, 12, 20, 24].map(number) == [1, 1280, 720, 3, 30_000])
        #expect([32, 36, 40].map(number) == [1280, 640, 640])
        #expect([48, 52, 56].map(number) == [64, 64 + 921_600, 64 + 921_600 + 230_400])
        #expect([64, 68].map(number) == [layout.slotBytes, 0] && [72, 76].map(number) == [4096, 0])
        #expect(header[80...].allSatisfy { $0 == 0 })
        #expect(try FrameLayout(header: header, limit: layout.memoryBytes) == layout)
    }

    @Test func `a header whose last byte lies outside the memory is refused`() throws {
        let layout = try FrameLayout.small()
        #expect(throws: Never.self) { try FrameLayout(header: layout.header, limit: layout.memoryBytes) }
        #expect(throws: FrameRingError.self) {
            try FrameLayout(header: layout.header, limit: layout.memoryBytes - 1)
        }
        #expect(throws: FrameRingError.self) { try FrameLayout(header: layout.header, limit: 0) }
        let short = Array(layout.header.dropLast())
        #expect(throws: FrameRingError.self) { try FrameLayout(header: short, limit: 1 << 20) }
    }

    @Test func `any change of a header is refused, or its layout stays inside the memory`() throws {
        let layout = try FrameLayout.small()
        let limit = layout.memoryBytes
        var generator = SeededGenerator(seed: 21)
        let edges: [UInt64] = [
            0, 1, 2, 3, 15, 16, 17, 63, 64, 65, 4095, 4096, 4097, 0x7FFF_FFFF, 0x8000_0000, 0xFFFF_FFFF,
            0x7FFF_FFFF_FFFF_FFFF, 0x8000_0000_0000_0000, .max, UInt64(limit), UInt64(limit) - 64,
        ]
        var accepted = 0
        for round in 0..<20_000 {
            var header = layout.header
            for _ in 0...generator.below(3) {
                let place = 4 * generator.below(20)
                let isEdge = generator.below(2) == 0
                let number = isEdge ? edges[generator.below(edges.count)] : generator.next()
                for index in 0..<(generator.below(2) == 0 ? 4 : 8) {
                    header[place + index] = UInt8(truncatingIfNeeded: number >> UInt64(8 * index))
                }
            }
            guard let found = try? FrameLayout(header: header, limit: limit) else { continue }
            accepted += 1
            #expect(found.memoryBytes <= limit && found.firstSlot >= 4096, "round \(round)")
            for plane in found.planes {
                #expect(plane.offset >= 64 && plane.stride >= plane.width, "round \(round)")
                let end = plane.offset + plane.stride * (plane.height - 1) + plane.width
                #expect(end <= found.slotBytes, "round \(round)")
            }
            #expect(found.slot(of: .max) + found.slotBytes <= limit, "round \(round)")
        }
        // Some changes are of the rate or of reserved bytes.
        #expect(accepted > 100)
    }
}
