import BTCallSimulator
import BluetoothTypes
import CBTCall
import ControlLoop
import Glibc
import TestSupport
import Testing

/// A headset's end of a control connection that sends only what the test wants.
@ControlPlane
final class RawHeadset {
    /// All lines received, without the empty lines between them.
    private(set) var lines: [String] = []
    private(set) var isClosed = false
    private var descriptor: Int32
    private var source: DescriptorSource?
    private var line: [UInt8] = []

    /// - Parameters:
    ///   - descriptor: owned by the headset from here on; non-blocking.
    ///   - isReading: false for a headset that does not read.
    init(_ descriptor: Int32, isReading: Bool = true) throws {
        self.descriptor = descriptor
        guard isReading else { return }
        source = try ControlLoop.shared.add(descriptor, .readable) { [weak self] _ in self?.read() }
    }

    isolated deinit { close() }

    func close() {
        source?.cancel()
        source = nil
        if descriptor >= 0 { _ = Glibc.close(descriptor) }
        descriptor = -1
    }

    /// Sends command lines, each with its CR, in one piece.
    func say(_ commands: [String]) {
        let bytes = Array(commands.map { $0 + "\r" }.joined().utf8)
        var sent = 0
        while sent < bytes.count {
            let count = bytes[sent...].withUnsafeBytes {
                send(descriptor, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL))
            }
            // A closed connection accepts nothing; the test checks that.
            guard count > 0 else { return }
            sent += count
        }
    }

    func say(_ commands: String...) { say(commands) }

    /// The shortest service level connection: no codecs, no call waiting, no indicators of its own.
    func establish() async throws {
        say("AT+BRSF=16", "AT+CIND=?", "AT+CIND?", "AT+CMER=3,0,0,1")
        try await eventually("it is connected") { self.lines.count { $0 == "OK" } >= 4 }
    }

    func hear(_ expected: String, sourceLocation: SourceLocation = #_sourceLocation) async throws {
        try await eventually("the headset hears \(expected)", sourceLocation: sourceLocation) {
            self.lines.contains(expected)
        }
    }

    func forget() { lines = [] }

    private func read() {
        var bytes = [UInt8](repeating: 0, count: 4096)
        let count = bytes.withUnsafeMutableBytes { Glibc.read(descriptor, $0.baseAddress, $0.count) }
        if count < 0, errno == EAGAIN || errno == EINTR { return }
        guard count > 0 else {
            isClosed = true
            source?.cancel()
            source = nil
            return
        }
        for byte in bytes[..<count] {
            if byte == UInt8(ascii: "\r") || byte == UInt8(ascii: "\n") {
                if !line.isEmpty { lines.append(String(decoding: line, as: UTF8.self)) }
                line = []
            } else {
                line.append(byte)
            }
        }
    }
}

extension Box {
    func rawHeadset(
        _ address: BluetoothAddress = Box.first, isReading: Bool = true
    ) async throws -> RawHeadset {
        try RawHeadset(try await bluez.connect(address), isReading: isReading)
    }

    /// A headset with a service level connection.
    func establishedHeadset() async throws -> RawHeadset {
        let headset = try await rawHeadset()
        try await headset.establish()
        return headset
    }
}
