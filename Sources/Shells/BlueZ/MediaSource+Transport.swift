package import BluetoothTypes
package import DBus

/// Whether a headset's A2DP stream runs (`org.bluez.MediaTransport1.State`).
package enum TransportState: String, Hashable, Sendable, CaseIterable {
    /// Nothing is streamed.
    case idle
    /// The headset has started the stream and nobody has acquired it.
    case pending
    /// Acquired and streaming.
    case active
}

extension MediaSource {
    /// The A2DP stream that is set up between a headset and our endpoint.
    package struct Transport: Equatable, Sendable {
        /// `/org/bluez/hci0/dev_AA_BB_CC_DD_EE_FF/sep1/fd0`
        package let path: String
        package let address: BluetoothAddress
        package internal(set) var state: TransportState
        /// 0…127; nil: the headset has no absolute volume, or has not told it yet.
        package internal(set) var volume: Int?
        /// From a packet's arrival at the headset to its sound; nil: the headset does not report it.
        package internal(set) var delay: Duration?
        package let configuration: SBCConfiguration
        /// What to encode with, for the quality that is wanted.
        package let bitpool: Int
    }

    /// What streams the music of an acquired transport.
    package struct AcquiredStream: Sendable {
        /// A `SOCK_SEQPACKET` socket, non-blocking. It is closed with the last reference; the one who writes to it stops
        /// before the transport is released.
        package let descriptor: PassedDescriptor
        /// The most bytes of a packet, with the headers of RTP.
        package let writeMTU: Int
        package let configuration: SBCConfiguration
        /// Within the configuration; a codec frame fits into a packet.
        package let bitpool: Int
    }
}

extension TransportState {
    /// - Parameter properties: of `org.bluez.MediaTransport1`. A state that BlueZ adds is none that streams from here.
    init(_ properties: [String: Value]) {
        self = properties["State"]?.stringValue.flatMap { Self(rawValue: $0) } ?? .idle
    }
}
