import BluetoothTypes
import ControlLoop
import Glibc
import Testing

@testable import BluetoothSockets

/// The parts that need no radio: the errors. The connections themselves are tested in the lab.
@Suite @ControlPlane
struct SynchronousConnectorTests {
    nonisolated static let kernelHasBluetooth: Bool = {
        let descriptor = socket(31, Int32(SOCK_SEQPACKET.rawValue), 2)
        if descriptor >= 0 { close(descriptor) }
        return descriptor >= 0
    }()
    let headset = BluetoothAddress(value: 0x001B_DC08_0011)

    @Test(.disabled(if: kernelHasBluetooth, "this kernel has Bluetooth"), arguments: VoiceCodec.allCases)
    func `without Bluetooth in the kernel the error names the module to load`(codec: VoiceCodec) async throws {
        let error = await #expect(throws: AudioLinkError.self) {
            try await SynchronousConnector().connect(from: nil, to: headset, codec: codec, timeout: .seconds(1))
        }
        #expect(error == .noBluetoothInKernel(SystemError(call: "socket", code: EAFNOSUPPORT)))
        let text = try #require(error?.description)
        #expect(text.contains("this kernel has no Bluetooth sockets: load the module `bluetooth`"))
        #expect(text.contains("EAFNOSUPPORT"))
        #expect(error?.isWorthRetrying == false)
    }

    @Test(.disabled(if: kernelHasBluetooth, "this kernel has Bluetooth"))
    func `without Bluetooth in the kernel there is no listener either`() {
        #expect(throws: AudioLinkError.noBluetoothInKernel(SystemError(call: "socket", code: EAFNOSUPPORT))) {
            try SynchronousConnectionListener()
        }
    }

    @Test func `a task that is cancelled before it connects opens no socket`() async {
        let task = Task { @ControlPlane in
            withUnsafeCurrentTask { $0?.cancel() }
            return await #expect(throws: AudioLinkError.cancelled) {
                try await SynchronousConnector().connect(from: nil, to: headset, codec: .cvsd, timeout: .seconds(1))
            }
        }
        _ = await task.value
    }

    @Test func `a connection closes its descriptor once, unless it was taken`() async throws {
        let pair = try SocketPair()
        let connection = SynchronousConnection(
            SocketHandle(owning: pair.ours), peer: headset, codec: .mSBC, reportsPacketStatus: false)
        #expect(connection.packetBytesHint == 0)
        connection.close()
        connection.close()
        #expect(connection.descriptor == -1)
        #expect(connection.take() == nil)
        #expect(pair.receive().isEmpty)

        let other = try SocketPair()
        let taken = SynchronousConnection(
            SocketHandle(owning: other.ours), peer: headset, codec: .mSBC, reportsPacketStatus: false
        ).take()
        #expect(taken == other.ours)
        other.send("open")
        close(other.ours)
    }
}
