import AudioDSP
import BluetoothTypes
import CBTCall
import Glibc

// Streams to headsets over A2DP.
extension AudioEngine {
    /// Sets the delay from a stream's socket to the ear as the headset reports it, for playing programs and the echo
    /// canceller.
    package func setStreamDelay(_ id: UInt32, milliseconds: Int) {
        _ = send(.setStreamDelay(id, milliseconds: max(0, milliseconds)))
    }

    /// Sets whether a stream that plays alone also hears both sides of the calls, wherever they are routed.
    package func setListening(_ id: UInt32, _ isOn: Bool) {
        _ = send(.setListening(id, isOn))
    }

    /// Maximum number of packets in a stream's socket: they are already late and their bitpool cannot be lowered any more.
    private static var socketPackets: Int { 4 }
    /// Highest priority without privileges; the kernel sends it before other traffic.
    private static var socketPriority: Int32 { 6 }

    func makeStream(_ stream: MediaStream, speakerGain: Float) throws(AudioEngineError) -> StreamPointer {
        let room = stream.writeMTU - MediaPacketizer.headerBytes
        guard let bitpool = stream.configuration.bitpool(stream.bitpool, within: room) else {
            let configuration = stream.configuration
            throw .packetTooSmall(
                writeMTU: stream.writeMTU,
                codecFrameBytes: configuration.codecFrameBytes(bitpool: configuration.minimumBitpool))
        }
        var bytes = Int32(clamping: stream.writeMTU * Self.socketPackets)
        try set(SO_SNDBUF, &bytes, of: stream.descriptor)
        var priority = Self.socketPriority
        try set(SO_PRIORITY, &priority, of: stream.descriptor)
        let port = StreamPointer.allocate(capacity: 1)
        port.initialize(
            to: StreamPort(
                stream, bitpool: bitpool, bus: configuration.bus, rates: Self.rates, speakerGain: speakerGain))
        return port
    }

    private func set(_ option: Int32, _ value: inout Int32, of descriptor: Int32) throws(AudioEngineError) {
        let code = setsockopt(descriptor, SOL_SOCKET, option, &value, socklen_t(MemoryLayout<Int32>.size))
        if code != 0 { throw .failed(call: "setsockopt", code: errno) }
    }
}
