import AudioDSP
import BluetoothTypes
import CBTCall
import Glibc

// Streams to headsets over A2DP.
extension AudioEngine {
    /// How long it takes from the socket of a stream to the ear, as the headset tells: programs that play are told, and the
    /// echo canceller.
    package func setStreamDelay(_ id: UInt32, milliseconds: Int) {
        _ = send(.setStreamDelay(id, milliseconds: max(0, milliseconds)))
    }

    /// Whether a stream that was added to play alone also hears the calls, both sides of them, wherever they are routed.
    package func setListening(_ id: UInt32, _ isOn: Bool) {
        _ = send(.setListening(id, isOn))
    }

    /// Packets that the socket of a stream may keep: what is in there is late already, and cannot be made smaller.
    private static var socketPackets: Int { 4 }
    /// The highest that anybody may ask for; the radio serves it before others.
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
                stream, bitpool: bitpool, busRate: configuration.busRate, rates: Self.rates, speakerGain: speakerGain))
        return port
    }

    private func set(_ option: Int32, _ value: inout Int32, of descriptor: Int32) throws(AudioEngineError) {
        let code = setsockopt(descriptor, SOL_SOCKET, option, &value, socklen_t(MemoryLayout<Int32>.size))
        if code != 0 { throw .failed(call: "setsockopt", code: errno) }
    }
}
