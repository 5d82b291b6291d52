package import BluetoothTypes

// What our A2DP endpoint offers, chooses, and encodes with.
extension SBCQuality {
    /// All of SBC, up to the highest bitpool that the profile asks of a sink.
    package static let capabilities: [UInt8] = [0xFF, 0xFF, 2, 53]
    /// RTP and the payload header (A2DP 1.4 §4.3.4).
    private static let headerBytes = 13

    /// Chooses from what a headset offers.
    ///
    /// - Parameter bytes: anything; a peer sends them.
    package func select(_ bytes: [UInt8]) throws(SBCError) -> SBCConfiguration {
        let (own, peer) = (try SBCCapabilities(Self.capabilities), try SBCCapabilities(bytes))
        let wanted = try own.select(with: peer, self)
        // Two channels by themselves with less than that are worse than joint stereo.
        guard self == .xq, wanted.maximumBitpool < wanted.wantedBitpool(.xq) else {
            return wanted
        }
        return try own.select(with: peer)
    }

    /// What to encode with: what is wanted, or a lower one of which a codec frame goes into a packet; nil if none does.
    ///
    /// - Parameter writeMTU: bytes, with the headers of RTP and of the payload (A2DP 1.4 §4.3.4).
    func bitpool(for configuration: SBCConfiguration, writeMTU: Int) -> Int? {
        configuration.bitpool(configuration.bitpool(self), within: writeMTU - Self.headerBytes)
    }
}
