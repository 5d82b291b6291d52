import BluetoothTypes
import Testing

struct SBCCapabilitiesTests {
    private func select(_ bytes: [UInt8]) -> Result<SBCConfiguration, SBCError> {
        Result { () throws(SBCError) in try SBCCapabilities(bytes).select() }
    }

    private func select(_ bytes: [UInt8], _ other: [UInt8]) -> Result<SBCConfiguration, SBCError> {
        Result { () throws(SBCError) in try SBCCapabilities(bytes).select(with: try SBCCapabilities(other)) }
    }

    @Test func `every bit has its value`() throws {
        let all = try SBCCapabilities([0xFF, 0xFF, 2, 53])
        #expect(all.rates == [16_000, 32_000, 44_100, 48_000])
        #expect(all.modes == [.mono, .dual, .stereo, .joint])
        #expect(all.blocks == [4, 8, 12, 16])
        #expect(all.subbands == [4, 8])
        #expect(all.allocations == [.snr, .loudness])
        #expect(all.minimumBitpool == 2 && all.maximumBitpool == 53)
        for (index, rate) in all.rates.enumerated() {
            #expect(try SBCCapabilities([0x80 >> UInt8(index), 0, 0, 0]).rates == [rate])
        }
        for (index, mode) in all.modes.enumerated() {
            #expect(try SBCCapabilities([0x08 >> UInt8(index), 0, 0, 0]).modes == [mode])
        }
        for (index, blocks) in all.blocks.enumerated() {
            #expect(try SBCCapabilities([0, 0x80 >> UInt8(index), 0, 0]).blocks == [blocks])
        }
        #expect(try SBCCapabilities([0, 0x08, 0, 0]).subbands == [4])
        #expect(try SBCCapabilities([0, 0x04, 0, 0]).subbands == [8])
        #expect(try SBCCapabilities([0, 0x02, 0, 0]).allocations == [.snr])
        #expect(try SBCCapabilities([0, 0x01, 0, 0]).allocations == [.loudness])
    }

    @Test func `the best of everything is selected, and its bytes have one bit a field`() throws {
        let selected = try select([0xFF, 0xFF, 2, 53]).get()
        #expect(selected.rate == 48_000 && selected.mode == .joint && selected.blocks == 16)
        #expect(selected.subbands == 8 && selected.allocation == .loudness)
        #expect(selected.minimumBitpool == 2 && selected.maximumBitpool == 53)
        #expect(selected.bytes == [0x11, 0x15, 2, 53])
        // What is selected is a capability of which it is the only choice.
        #expect(try select(selected.bytes).get() == selected)
    }

    @Test func `two endpoints get what both have`() throws {
        let selected = try select([0xFF, 0xFF, 2, 250], [0x22, 0x8A, 10, 60]).get()
        #expect(selected.bytes == [0x22, 0x8A, 10, 60])
        #expect(try select([0x22, 0x8A, 10, 60], [0xFF, 0xFF, 2, 250]).get() == selected)
    }

    @Test func `nothing in common is named by the field`() {
        let one: [UInt8] = [0x21, 0x15, 2, 53]
        #expect(select(one, [0x11, 0x15, 2, 53]) == .failure(.nothingInCommon(.rate)))
        #expect(select(one, [0x22, 0x15, 2, 53]) == .failure(.nothingInCommon(.mode)))
        #expect(select(one, [0x21, 0x25, 2, 53]) == .failure(.nothingInCommon(.blocks)))
        #expect(select(one, [0x21, 0x19, 2, 53]) == .failure(.nothingInCommon(.subbands)))
        #expect(select(one, [0x21, 0x16, 2, 53]) == .failure(.nothingInCommon(.allocation)))
        #expect(select(one, [0x21, 0x15, 54, 80]) == .failure(.noCommonBitpool(2...53, 54...80)))
    }

    @Test func `an empty field, a wrong size and a wrong bitpool range are refused`() {
        #expect(select([0x0F, 0xFF, 2, 53]) == .failure(.emptyField(.rate)))
        #expect(select([0xF0, 0xFF, 2, 53]) == .failure(.emptyField(.mode)))
        #expect(select([0xFF, 0x0F, 2, 53]) == .failure(.emptyField(.blocks)))
        #expect(select([0xFF, 0xF3, 2, 53]) == .failure(.emptyField(.subbands)))
        #expect(select([0xFF, 0xFC, 2, 53]) == .failure(.emptyField(.allocation)))
        #expect(select([0xFF, 0xFF, 53, 2]) == .failure(.bitpoolUpsideDown(53, 2)))
        #expect(select([0xFF, 0xFF, 1, 53]) == .failure(.bitpoolOutOfRange(1, 53)))
        #expect(select([0xFF, 0xFF, 2, 251]) == .failure(.bitpoolOutOfRange(2, 251)))
        #expect(select([0xFF, 0xFF, 2, 2]).map(\.maximumBitpool) == .success(2))
        for count in [0, 1, 3, 5, 6, 300] {
            #expect(select([UInt8](repeating: 0xFF, count: count)) == .failure(.wrongSize(count)))
        }
    }

    @Test func `the bitpool fits into the codec frames of the mode, and a mode without room is passed over`() throws {
        #expect(try select([0x18, 0x15, 2, 250]).get().maximumBitpool == 128)
        #expect(try select([0x14, 0x19, 2, 250]).get().maximumBitpool == 64)
        #expect(try select([0x12, 0x19, 2, 250]).get().maximumBitpool == 128)
        #expect(try select([0x11, 0x15, 2, 250]).get().maximumBitpool == 250)
        #expect(try select([0x1A, 0x19, 100, 250]).get().mode == .stereo)
        #expect(select([0x18, 0x15, 129, 250]) == .failure(.bitpoolTooHigh(129)))
    }

    @Test func `any four bytes give a configuration within them or an error`() throws {
        for first in UInt8.min...UInt8.max {
            for second in UInt8.min...UInt8.max {
                for bitpools: (UInt8, UInt8) in [(2, 53), (140, 250)] {
                    let bytes = [first, second, bitpools.0, bitpools.1]
                    let capabilities = try SBCCapabilities(bytes)
                    guard case .success(let selected) = select(bytes) else { continue }
                    let chosen = selected.bytes
                    #expect(chosen[0] & ~first == 0 && chosen[1] & ~second == 0)
                    #expect(chosen[2] >= bytes[2] && chosen[3] <= bytes[3] && chosen[2] <= chosen[3])
                    #expect(try capabilities.select(with: capabilities) == selected)
                }
            }
        }
    }
}
