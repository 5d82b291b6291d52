import BTCall
import CBTCall
import Foundation
import Synchronization

/// Writes a tone until stopped, in its own thread as a program would.
final class Speaker: Sendable {
    private let descriptor: Int32
    private let isStopped = Mutex(false)
    private let ended = DispatchSemaphore(value: 0)

    init(_ audio: AudioInjection, _ hertz: Double) {
        descriptor = audio.takeDescriptor()
        Thread { [self] in run(hertz) }.start()
    }

    private func run(_ hertz: Double) {
        var position = 0
        while !isStopped.withLock({ $0 }) {
            let block = (0..<160).map { Int16(12_000 * sin(2 * .pi * hertz * Double(position + $0) / 16_000)) }
            guard send(descriptor, block, 320, Int32(MSG_NOSIGNAL)) == 320 else { break }
            position += 160
        }
        ended.signal()
    }

    func stop() {
        isStopped.withLock { $0 = true }
        shutdown(descriptor, Int32(SHUT_RDWR))
        ended.wait()
        close(descriptor)
    }
}
