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

    @Test func `the best value of everything is selected, and the bytes have one bit per field`() throws {
        let selected = try select([0xFF, 0xFF, 2, 53]).get()
        #expect(selected.rate == 48_000 && selected.mode == .joint && selected.blocks == 16)
        #expect(selected.subbands == 8 && selected.allocation == .loudness)
        #expect(selected.minimumBitpool == 2 && selected.maximumBitpool == 53)
        #expect(selected.bytes == [0x11, 0x15, 2, 53])
        // The selected configuration is a capability that allows nothing else.
        #expect(try select(selected.bytes).get() == selected)
    }

    @Test func `two endpoints get a configuration that both support`() throws {
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
        #expect(select([0xFF, 0xFF, 2, 2]).map(\.maximumBitpool) == .success(2))
        for count in [0, 1, 3, 5, 6, 300] {
            #expect(select([UInt8](repeating: 0xFF, count: count)) == .failure(.wrongSize(count)))
        }
    }

    @Test func `a sink's bitpools beyond the limits are clamped, a configuration beyond them is refused`() {
        #expect(select([0xFF, 0xFF, 0, 255]) == select([0xFF, 0xFF, 2, 250]))
        #expect(select([0xFF, 0xFF, 1, 53]) == select([0xFF, 0xFF, 2, 53]))
        #expect(select([0xFF, 0xFF, 251, 255]) == select([0xFF, 0xFF, 250, 250]))
        #expect(select([0xFF, 0xFF, 2, 53], [0xFF, 0xFF, 1, 251]) == select([0xFF, 0xFF, 2, 53]))
        #expect(throws: SBCError.bitpoolOutOfRange(1, 53)) { try SBCConfiguration([0x11, 0x15, 1, 53]) }
        #expect(throws: SBCError.bitpoolOutOfRange(2, 251)) { try SBCConfiguration([0x11, 0x15, 2, 251]) }
        #expect(throws: SBCError.bitpoolUpsideDown(53, 1)) { try SBCConfiguration([0x11, 0x15, 53, 1]) }
    }

    @Test func `the bitpool fits into the mode's codec frames, and a mode without room is skipped`() throws {
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

    /// The expected selection for four bytes by the table of A2DP 1.4 §4.3.2, computed from the bits alone.
    private func reference(_ bytes: [UInt8]) -> Result<[UInt8], SBCError> {
        func lowest(_ bits: UInt8) -> UInt8 { bits & (~bits &+ 1) }
        let fields: [(SBCCapabilities.Field, UInt8)] = [
            (.rate, bytes[0] & 0xF0), (.mode, bytes[0] & 0x0F), (.blocks, bytes[1] & 0xF0),
            (.subbands, bytes[1] & 0x0C), (.allocation, bytes[1] & 0x03),
        ]
        if let empty = fields.first(where: { $0.1 == 0 }) { return .failure(.emptyField(empty.0)) }
        if bytes[2] > bytes[3] { return .failure(.bitpoolUpsideDown(Int(bytes[2]), Int(bytes[3]))) }
        let (low, high) = (min(max(Int(bytes[2]), 2), 250), min(max(Int(bytes[3]), 2), 250))
        var modes = bytes[0] & 0x0F
        while modes != 0 {
            let mode = lowest(modes)
            modes &= ~mode
            var subbands = bytes[1] & 0x0C
            while subbands != 0 {
                let one = lowest(subbands)
                subbands &= ~one
                // Sixteen bits per subband; twice that if two channels share them.
                let room = (one == 0x04 ? 8 : 4) * (mode < 0x04 ? 32 : 16)
                if low > room { continue }
                return .success([
                    lowest(bytes[0] & 0xF0) | mode, lowest(bytes[1] & 0xF0) | one | lowest(bytes[1] & 0x03), UInt8(low),
                    UInt8(min(high, room)),
                ])
            }
        }
        return .failure(.bitpoolTooHigh(low))
    }

    @Test func `all combinations of the first two bytes are selected or refused as in the profile's table`() {
        for first in UInt8.min...UInt8.max {
            for second in UInt8.min...UInt8.max {
                for bitpools: (UInt8, UInt8) in [(2, 53), (65, 250), (140, 250)] {
                    let bytes = [first, second, bitpools.0, bitpools.1]
                    #expect(select(bytes).map(\.bytes) == reference(bytes))
                }
            }
        }
    }

    @Test func `all bitpools are accepted or refused as in the profile's table`() {
        for low in UInt8.min...UInt8.max {
            for high in UInt8.min...UInt8.max {
                for first: UInt8 in [0x11, 0x18, 0x1C] {
                    let bytes = [first, 0x19, low, high]
                    #expect(select(bytes).map(\.bytes) == reference(bytes))
                }
            }
        }
    }

    @Test func `any two endpoints have in common what their bits have in common`() throws {
        var state: UInt32 = 1
        func random() -> UInt8 {
            state = state &* 1_664_525 &+ 1_013_904_223
            return UInt8(truncatingIfNeeded: state >> 24)
        }
        for _ in 0..<65_536 {
            let one = [random() | random(), random() | random(), random() % 60 + 2, random() % 120 + 30]
            let other = [random() | random(), random() | random(), random() % 60 + 2, random() % 120 + 30]
            let common = [one[0] & other[0], one[1] & other[1], max(one[2], other[2]), min(one[3], other[3])]
            switch (reference(one), reference(other), reference(common)) {
            // Each one is checked first; nothing in common has an error of its own.
            case (.failure(.emptyField(let field)), _, _):
                #expect(select(one, other) == .failure(.emptyField(field)))
            case (.failure(.bitpoolUpsideDown(let low, let high)), _, _):
                #expect(select(one, other) == .failure(.bitpoolUpsideDown(low, high)))
            case (_, .failure(.emptyField(let field)), _):
                #expect(select(one, other) == .failure(.emptyField(field)))
            case (_, .failure(.bitpoolUpsideDown(let low, let high)), _):
                #expect(select(one, other) == .failure(.bitpoolUpsideDown(low, high)))
            case (_, _, .failure(.emptyField(let field))):
                #expect(select(one, other) == .failure(.nothingInCommon(field)))
            case (_, _, .failure(.bitpoolUpsideDown)):
                #expect(
                    select(one, other)
                        == .failure(
                            .noCommonBitpool(Int(one[2])...Int(one[3]), Int(other[2])...Int(other[3]))))
            case (_, _, let expected):
                #expect(select(one, other).map(\.bytes) == expected)
            }
        }
    }
}
