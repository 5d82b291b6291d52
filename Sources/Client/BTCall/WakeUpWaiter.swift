import ControlLoop
import DBus
import FrameRings

/// Waits for the messages of a ring's wake-up. While nobody waits, they wake nobody.
@ControlPlane
final class WakeUpWaiter {
    private var descriptor: PassedDescriptor?
    private var source: DescriptorSource?
    private var waiting: [UInt64: CheckedContinuation<Void, Never>] = [:]
    private var lastTicket: UInt64 = 0

    init(_ descriptor: PassedDescriptor) { self.descriptor = descriptor }

    isolated deinit { close() }

    /// Waits for the next message, at once if there is one; also ends when the task is cancelled.
    ///
    /// - Returns: false when nothing will come.
    func wait() async -> Bool {
        guard descriptor != nil, !Task.isCancelled else { return false }
        lastTicket += 1
        let ticket = lastTicket
        await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                guard let descriptor, !Task.isCancelled else { return continuation.resume() }
                waiting[ticket] = continuation
                watch(descriptor.descriptor)
            }
        } onCancel: {
            Task { @ControlPlane in self.resume(ticket) }
        }
        return descriptor != nil
    }

    /// Ends all waiting and closes the descriptor, which btcall-video sees. A second call does nothing.
    func close() {
        source?.cancel()
        source = nil
        descriptor = nil
        for ticket in waiting.keys { resume(ticket) }
    }

    private func watch(_ descriptor: Int32) {
        if let source { return source.update(.readable) }
        do throws(SystemError) {
            source = try ControlLoop.shared.add(descriptor, .readable) { [weak self] _ in self?.look(descriptor) }
        } catch {
            // No watch is possible: the sequence ends instead of waiting for ever.
            close()
        }
    }

    private func look(_ descriptor: Int32) {
        switch FrameWakeUp.read(descriptor) {
        case .nothing: return
        case .messages:
            source?.update([])
            for ticket in waiting.keys { resume(ticket) }
        // The picture has ended, or btcall-video has gone; it sends no descriptors.
        case .closed, .descriptors: close()
        }
    }

    private func resume(_ ticket: UInt64) { waiting.removeValue(forKey: ticket)?.resume() }
}
