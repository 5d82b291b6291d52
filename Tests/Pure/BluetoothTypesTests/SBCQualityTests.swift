import BluetoothTypes
import Testing

struct SBCQualityTests {
    private func configuration(_ bytes: [UInt8], _ quality: SBCQuality = .standard) throws -> SBCConfiguration {
        try SBCCapabilities(bytes).select(quality)
    }

    @Test(
        arguments: [
            ([0x21, 0x15, 2, 250], 53, 76, 327), ([0x11, 0x15, 2, 250], 51, 70, 345),
            ([0x22, 0x15, 2, 250], 53, 76, 325),
            ([0x28, 0x15, 2, 250], 31, 31, 192), ([0x18, 0x15, 2, 250], 29, 29, 198),
            ([0x24, 0x15, 2, 250], 31, 38, 374),
            ([0x14, 0x15, 2, 250], 29, 35, 384), ([0x81, 0x15, 2, 250], 53, 76, 119),
            ([0x41, 0x15, 2, 250], 53, 76, 238),
            // Within the agreed range, and with half the bits per block where blocks are half as long.
            ([0x21, 0x15, 2, 40], 40, 40, 256), ([0x21, 0x15, 60, 80], 60, 76, 366),
            ([0x21, 0x19, 2, 250], 26, 38, 336),
        ] as [([UInt8], Int, Int, Int)])
    func `the bitpool matches the profile's table for the configuration`(
        bytes: [UInt8], standard: Int, extended: Int, kilobits: Int
    ) throws {
        let configuration = try configuration(bytes)
        #expect(configuration.bitpool(.standard) == standard && configuration.bitpool(.xq) == extended)
        #expect(configuration.bitsPerSecond(bitpool: standard) / 1_000 == kilobits)
    }

    @Test func `the extended quality uses dual channel if the headset supports it`() throws {
        let extended = try configuration([0xFF, 0xFF, 2, 53], .xq)
        #expect(extended.bytes == [0x14, 0x15, 2, 53])
        #expect(extended.bitpool(.xq) == 35)
        #expect(try configuration([0x21, 0x15, 2, 53], .xq).bytes == [0x21, 0x15, 2, 53])
        let both = try SBCCapabilities([0x2F, 0xFF, 2, 250])
        #expect(try both.select(with: both, .xq).bytes == [0x24, 0x15, 2, 128])
        // Five codec frames in a packet of five slots at 2 Mbit/s, as Android sends them.
        let dual = try configuration([0x24, 0x15, 2, 250])
        #expect(dual.codecFrameBytes(bitpool: 38) == 164 && dual.bitsPerSecond(bitpool: 38) == 452_025)
    }

    @Test func `a short packet gets a lower bitpool, and one that is too short gets none`() throws {
        let joint = try configuration([0x21, 0x15, 2, 53])
        #expect(joint.codecFrameBytes(bitpool: 53) == 119)
        #expect(joint.bitpool(53, within: 119) == 53 && joint.bitpool(53, within: 118) == 52)
        #expect(joint.bitpool(250, within: 1_000) == 53 && joint.bitpool(1, within: 1_000) == 2)
        #expect(joint.codecFrameBytes(bitpool: 2) == 17)
        #expect(joint.bitpool(53, within: 17) == 2 && joint.bitpool(53, within: 16) == nil)
    }
}
