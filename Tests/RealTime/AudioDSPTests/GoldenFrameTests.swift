import AudioDSP
import Testing

/// Bytes on the air of both codecs of a headset, compared with other implementations for the same audio.
///
/// `codecFrames` were encoded by `sbcenc -m` and `decoded` was decoded from them by `sbcdec -m`, of Debian's sbc-tools
/// 2.0-1, from `said` as a 16 kHz file; neither has passed this project's code. CVSD is encoded by the controller, which
/// receives the audio itself (HFP 1.9, wide band speech, synchronisation header H2; Core, volume 2 part B, 9.2).
struct GoldenFrameTests {
    /// A triangle with rising pitch and loudness: whole numbers only, the same on every machine.
    private static let said: [Int16] = (0..<480).map { index in
        let phase = (index * index / 30 + index * 9) % 512
        let height = phase < 256 ? phase * 2 - 256 : 768 - phase * 2
        return Int16(height * (20 + index / 8))
    }

    /// Byte 0: syncword; 1 and 2: reserved; 3: checksum.
    private static let codecFrames: [[UInt8]] = [
        "ad0000beca8988787ddb6d5f76db5799b6d5e92e314ced609d6ccb9ada"
            + "36d7188db585d36d5076db535e36d6458db5d2636d665a9b52de36d4",
        "ad00004dda9876656147552931a15a2b589164e5955b48556bb9555969"
            + "872512554084e6926e4911a5115a95a595e1c3554054b93156973848",
        "ad00002adca88787c1e8130f69a638e491ce963d6435f55af18dd94514"
            + "d1ce0a9c6ca12f0b0f9dc0bc9c88b0b6abacc698ead039901af53a2c",
        "ad0000f5cd8a89882d2963b0b2a2c40f4f2aeb9b103cd0aa71bcc7528e"
            + "4da77ad86d198ad5777b16d2a8e996d2ac656b8cdb1b1336cab0e9b0",
    ].map(bytes)

    private static let decoded: [Int16] = [
        0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, -1, -1, -1, 0, 0, 1, 1, 0, -2, -4, -4, -4, -5, -5, -11, -3,
        -8, -14, -8, -1, 11, 18, 9, -2, -10, -1, 26, 36, 38, 59, 54, -8, -75, -112, -94, 0, 69, 200, 146, 103, 235, 136,
        128, -82, -221, 4, 312, 5, 192, 40, 292, 62, 217, -98, 112, -176, -5086, -4655, -4451, -3965, -3533, -3000,
        -2837, -2274, -2407, -1754, -1645, -1100, -579, 111, 228, 674, 1169, 1480, 1899, 2449, 2972, 3421, 3806, 4313,
        4814, 5375, 5593, 5437, 4948, 4403, 3905, 3533, 3083, 2491, 1835, 1271, 850, 470, -32, -735, -1517, -2254,
        -2863, -3349, -3825, -4400, -5074, -5714, -6153, -6247, -5902, -5166, -4272, -3473, -2834, -2243, -1664, -1084,
        -442, 290, 1009, 1658, 2402, 3281, 4033, 4506, 5150, 6163, 6935, 6711, 5684, 4852, 4366, 3698, 2671, 1767, 1137,
        471, -518, -1497, -2079, -2940, -3801, -4844, -5822, -6597, -7441, -7138, -6420, -5404, -4411, -3726, -2533,
        -1467, -644, 143, 1301, 2365, 3338, 4353, 5345, 6275, 7050, 8073, 7544, 6057, 5014, 4030, 3144, 1956, 1044, 49,
        -1210, -2241, -3293, -4352, -5564, -6996, -8210, -8320, -7370, -6147, -4958, -3755, -2467, -1308, -129, 1277,
        2500, 3693, 5083, 6222, 7389, 8749, 8655, 7161, 5977, 4700, 3296, 1775, 399, -691, -2162, -3566, -5082, -6245,
        -7594, -9153, -8603, -7036, -5745, -4303, -2706, -1079, 141, 1513, 3003, 4533, 6062, 7570, 9505, 9613, 8034,
        6514, 4629, 3067, 1594, -34, -1530, -3346, -5087, -6461, -8339, -9993, -9341, -7553, -6071, -4245, -2292, -517,
        1073, 2687, 4678, 6455, 8265, 10199, 10160, 8245, 6435, 4635, 2796, 871, -1204, -2956, -4939, -6859, -8969,
        -10783, -9892, -7999, -6311, -4112, -2287, 62, 2294, 4200, 6406, 8148, 10428, 10901, 8543, 6345, 4523, 2595,
        536, -1556, -3879, -6252, -8707, -11213, -11319, -9201, -6820, -4521, -2287, 38, 2067, 4876, 7363, 9496, 11763,
        10613, 7933, 5685, 3427, 1134, -1239, -3295, -5851, -8381, -10893, -11502, -9538, -6731, -4091, -1638, 1101,
        3384, 5968, 8218, 11000, 12103, 9342, 6862, 4417, 1639, -777, -3594, -6591, -9269, -11610, -11778, -8840, -6294,
        -3800, -853, 1788, 4864, 7139, 10286, 12815, 11267, 8391, 5413, 2561, -408, -3681, -6175, -9148, -11981, -12181,
        -9410, -6348, -3663, -634, 2312, 5527, 8609, 12197, 13191, 9974, 6745, 3795, 661, -2643, -6123, -9269, -12838,
        -13784, -10431, -6864, -3559, -218, 2906, 6405, 9775, 13238, 12991, 9501, 6124, 2535, -579, -4143, -7075,
        -10885, -14228, -11731, -8439, -5158, -918, 2179, 6381, 9795, 13362, 13342, 9223, 6047, 1694, -1284, -5134,
        -8469, -11966, -14240, -10620, -7152, -3218, -17, 4038, 7453, 11957, 15828, 11771, 7900, 4050, 18, -4364, -7989,
        -12336, -15588, -11246, -7561, -3723, 165, 3752, 8091, 12282, 15882, 12683, 7655, 3875, -861, -5591, -10183,
        -14485, -15217, -10471, -5837, -1900, 2436, 5974, 10877, 15080, 13740, 9235, 5184, 695, -3897, -8711, -14113,
        -16239, -12510, -6877, -2216, 2637, 7091, 11974, 16321, 14251, 8229, 4011, -525, -5418, -9820, -14633, -14964,
        -10028, -5596, -1339, 3622, 8206, 14085, 16561, 12106, 6801, 1965, -3475, -7978,
    ]

    /// Synchronisation header of each, with cyclic numbers, and the padding.
    private static var packets: [[UInt8]] {
        zip([[0x01, 0x08], [0x01, 0x38], [0x01, 0xC8], [0x01, 0xF8]], codecFrames).map { $0 + $1 + [0] }
    }

    @Test func `S3.7 to the headset mSBC is sent as header H2, number, golden codec frame and padding`() {
        var transmitter = LinkTransmitter(.mSBC)
        var packet = [UInt8](repeating: 0xEE, count: 60)
        for (number, golden) in Self.packets.enumerated() {
            let missing = transmitter.makePacket(
                &packet, 60, from: Array(Self.said[(number * 120)..<(number * 120 + 120)]), 120)
            #expect(missing == 0)
            #expect(packet == golden, "codec frame \(number)")
        }
        // The numbers are cyclic.
        _ = transmitter.makePacket(&packet, 60, from: Self.said, 120)
        #expect(packet.prefix(3) == [0x01, 0x08, 0xAD])
    }

    @Test(arguments: [24, 60, 72, 240])
    func `S3.7 from the headset golden codec frames of mSBC give the golden audio`(packetBytes: Int) {
        var receiver = LinkReceiver(.mSBC)
        var buffer = [Int16](repeating: 0, count: 1_024)
        var heard: [Int16] = []
        let stream = Self.packets.flatMap { $0 }
        for start in stride(from: 0, to: stream.count, by: packetBytes) {
            let packet = Array(stream[start..<min(start + packetBytes, stream.count)])
            let made = receiver.receive(packet, packet.count, status: 0, into: &buffer, capacity: buffer.count)
            heard += buffer[..<made]
        }
        #expect(heard == Self.decoded)
        #expect(receiver.counters.frames == 4 && receiver.counters.sequenceGaps == 0)
        #expect(receiver.counters.framesConcealed == 0 && receiver.counters.bytesSkipped == 0)
    }

    @Test func `S3.7 both ways CVSD is 8 kHz audio that passes unchanged, least significant byte first`() {
        #expect(LinkFormat.cvsd.rate == 8_000 && LinkFormat.mSBC.rate == 16_000)
        let golden = Self.bytes("00ecc2ece6ed5cef24f13ef3aaf568f878fbdafe")
        let audio: [Int16] = [-5_120, -4_926, -4_634, -4_260, -3_804, -3_266, -2_646, -1_944, -1_160, -294]
        var transmitter = LinkTransmitter(.cvsd)
        var packet = [UInt8](repeating: 0xEE, count: golden.count)
        let missing = transmitter.makePacket(&packet, packet.count, from: audio, audio.count)
        #expect(missing == 0)
        #expect(packet == golden)

        var receiver = LinkReceiver(.cvsd)
        var heard = [Int16](repeating: 0, count: 64)
        let made = receiver.receive(golden, golden.count, status: 0, into: &heard, capacity: heard.count)
        #expect(Array(heard[..<made]) == audio)
        // Not only quiet audio: every possible value.
        let all = (-32_768...32_767).map { Int16($0) }
        for start in stride(from: 0, to: all.count, by: 64) {
            let piece = Array(all[start..<(start + 64)])
            var bytes = [UInt8](repeating: 0, count: 128)
            _ = transmitter.makePacket(&bytes, 128, from: piece, 64)
            let made = receiver.receive(bytes, 128, status: 0, into: &heard, capacity: heard.count)
            #expect(Array(heard[..<made]) == piece)
        }
    }

    private static func bytes(_ hex: String) -> [UInt8] {
        let digits = hex.compactMap(\.hexDigitValue).map { UInt8($0) }
        return stride(from: 0, to: digits.count - 1, by: 2).map { digits[$0] << 4 | digits[$0 + 1] }
    }
}
