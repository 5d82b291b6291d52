package import ControlLoop
internal import Glibc
internal import Synchronization

/// A file descriptor that was received with a message or is to be sent with one; the last reference closes it.
///
/// Sending passes a duplicate and keeps this one open.
package final class PassedDescriptor: Hashable, Sendable {
    private let stored: Atomic<Int32>

    /// Takes over a descriptor: the caller no longer closes it.
    package init(taking descriptor: Int32) {
        stored = Atomic(descriptor)
    }

    /// Makes a close-on-exec duplicate; the caller keeps its descriptor.
    package init(duplicating descriptor: Int32) throws(SystemError) {
        let copy = fcntl(descriptor, F_DUPFD_CLOEXEC, 0)
        guard copy >= 0 else { throw SystemError("fcntl") }
        stored = Atomic(copy)
    }

    deinit {
        let descriptor = stored.load(ordering: .relaxed)
        if descriptor >= 0 { close(descriptor) }
    }

    /// The descriptor, still owned by this object; -1 once taken.
    package var descriptor: Int32 { stored.load(ordering: .relaxed) }

    /// Releases the descriptor to the caller, who closes it; -1 if it was taken before.
    package func take() -> Int32 { stored.exchange(-1, ordering: .acquiringAndReleasing) }

    package static func == (left: PassedDescriptor, right: PassedDescriptor) -> Bool { left === right }

    package func hash(into hasher: inout Hasher) {
        hasher.combine(ObjectIdentifier(self))
    }
}
