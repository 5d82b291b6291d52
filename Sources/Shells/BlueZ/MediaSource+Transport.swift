package import BluetoothTypes
package import DBus

/// Whether a headset's A2DP stream runs (`org.bluez.MediaTransport1.State`).
package enum TransportState: String, Hashable, Sendable, CaseIterable {
    /// No audio is streamed.
    case idle
    /// The headset has started the stream and no program has acquired it.
    case pending
    /// Acquired and streaming.
    case active
}

extension MediaSource {
    /// The A2DP stream between a headset and our endpoint.
    package struct Transport: Equatable, Sendable {
        /// `/org/bluez/hci0/dev_AA_BB_CC_DD_EE_FF/sep1/fd0`
        package let path: String
        package let address: BluetoothAddress
        package internal(set) var state: TransportState
        /// 0…127; nil if the headset has no absolute volume, or has not reported it yet.
        package internal(set) var volume: Int?
        /// Delay from a packet's arrival at the headset to its sound; nil if the headset does not report it.
        package internal(set) var delay: Duration?
        package let configuration: SBCConfiguration
        /// Bitpool for the wanted quality.
        package let bitpool: Int
    }

    /// Socket and parameters for the music of an acquired transport.
    package struct AcquiredStream: Sendable {
        /// A `SOCK_SEQPACKET` socket, non-blocking. The last reference closes it; the writer stops before the transport is
        /// released.
        package let descriptor: PassedDescriptor
        /// Largest packet in bytes, including RTP headers.
        package let writeMTU: Int
        package let configuration: SBCConfiguration
        /// Within the configuration; a codec frame fits into a packet.
        package let bitpool: Int
    }
}

extension TransportState {
    /// - Parameter properties: of `org.bluez.MediaTransport1`. An unknown state counts as `idle`.
    init(_ properties: [String: Value]) {
        self = properties["State"]?.stringValue.flatMap { Self(rawValue: $0) } ?? .idle
    }
}
