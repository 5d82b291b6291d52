package import BluetoothTypes

// Offer, choice and bitpool of our A2DP endpoint.
extension SBCQuality {
    /// All of SBC, up to the highest bitpool that the profile requires of a sink.
    package static let capabilities: [UInt8] = [0xFF, 0xFF, 2, 53]
    /// RTP and the payload header (A2DP 1.4 §4.3.4).
    private static let headerBytes = 13

    /// Chooses from a headset's offer.
    ///
    /// - Parameter bytes: untrusted; the peer sends them.
    package func select(_ bytes: [UInt8]) throws(SBCError) -> SBCConfiguration {
        let (own, peer) = (try SBCCapabilities(Self.capabilities), try SBCCapabilities(bytes))
        let wanted = try own.select(with: peer, self)
        // Dual channel below that bitpool sounds worse than joint stereo.
        guard self == .xq, wanted.maximumBitpool < wanted.wantedBitpool(.xq) else {
            return wanted
        }
        return try own.select(with: peer)
    }

    /// Bitpool to encode with: the wanted one, or a lower one whose codec frame fits into a packet; nil if none does.
    ///
    /// - Parameter writeMTU: bytes, with the headers of RTP and of the payload (A2DP 1.4 §4.3.4).
    func bitpool(for configuration: SBCConfiguration, writeMTU: Int) -> Int? {
        configuration.bitpool(configuration.bitpool(self), within: writeMTU - Self.headerBytes)
    }
}
