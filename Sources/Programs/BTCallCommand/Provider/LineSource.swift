import ControlLoop
import Glibc

/// Splits a descriptor's bytes into lines; reads on the control loop.
@ControlPlane
final class LineSource {
    /// One line, counted from 1.
    enum Line: Hashable {
        /// The line without its newline.
        case bytes([UInt8], number: Int)
        /// A line of more than ``limit`` bytes, which are dropped.
        case tooLong(number: Int)
    }

    /// Longest line in bytes.
    nonisolated static let limit = 64 * 1024
    private nonisolated static let pieceSize = 4096

    private let descriptor: Int32
    private let onLine: @ControlPlane (Line) -> Void
    private let onEnd: @ControlPlane () -> Void
    private var source: DescriptorSource?
    private var line: [UInt8] = []
    private var number = 1
    private var isOver = false

    /// - Parameters:
    ///   - descriptor: stays the caller's and is not changed: it may be a terminal.
    ///   - onEnd: called once, last, at the end or on a read error; an unterminated line is delivered before.
    init(
        _ descriptor: Int32, onLine: @escaping @ControlPlane (Line) -> Void,
        onEnd: @escaping @ControlPlane () -> Void
    ) {
        self.descriptor = descriptor
        self.onLine = onLine
        self.onEnd = onEnd
    }

    func start() {
        do throws(SystemError) {
            source = try ControlLoop.shared.add(descriptor, .readable) { [weak self] _ in self?.read() }
        } catch {
            // A file, or /dev/null, is always readable.
            readNext()
        }
    }

    func stop() {
        isOver = true
        source?.cancel()
        source = nil
    }

    private func readNext() {
        ControlLoop.shared.perform { [weak self] in
            guard let self, !isOver else { return }
            read()
            readNext()
        }
    }

    /// Reads one piece: reading what is available does not block.
    private func read() {
        guard !isOver else { return }
        var piece = [UInt8](repeating: 0, count: Self.pieceSize)
        let count = Glibc.read(descriptor, &piece, piece.count)
        if count < 0, errno == EINTR || errno == EAGAIN { return }
        guard count > 0 else { return end() }
        for byte in piece[..<count] where !isOver { append(byte) }
    }

    private func append(_ byte: UInt8) {
        guard byte == UInt8(ascii: "\n") else {
            // One byte more than the limit is enough to detect the excess.
            if line.count <= Self.limit { line.append(byte) }
            return
        }
        let bytes = line
        line = []
        number += 1
        onLine(bytes.count > Self.limit ? .tooLong(number: number - 1) : .bytes(bytes, number: number - 1))
    }

    private func end() {
        if !line.isEmpty { append(UInt8(ascii: "\n")) }
        guard !isOver else { return }
        stop()
        onEnd()
    }
}
