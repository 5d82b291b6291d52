/// Events of a descriptor that a source subscribes to.
package struct Interest: OptionSet, Hashable, Sendable {
    package let rawValue: UInt8

    package init(rawValue: UInt8) {
        self.rawValue = rawValue
    }

    package static let readable = Interest(rawValue: 1)
    package static let writable = Interest(rawValue: 2)
    /// The other end closes, or the descriptor fails, and nothing else; a source with another interest learns of it, too.
    package static let hangup = Interest(rawValue: 4)
}

/// Present state of a descriptor. Hang-up and error go to every source that has any interest.
package struct Readiness: OptionSet, Hashable, Sendable {
    package let rawValue: UInt8

    package init(rawValue: UInt8) {
        self.rawValue = rawValue
    }

    package static let readable = Readiness(rawValue: 1)
    package static let writable = Readiness(rawValue: 2)
    package static let hangup = Readiness(rawValue: 4)
    package static let error = Readiness(rawValue: 8)
}

/// One watcher of a descriptor. Several may watch the same one.
///
/// It neither owns nor closes the descriptor: cancel first, then close. Dropping the reference does not cancel.
@ControlPlane
package final class DescriptorSource {
    package let descriptor: Int32
    private(set) var interest: Interest
    private(set) var isCancelled = false
    private var handler: (@ControlPlane (Readiness) -> Void)?
    private let loop: ControlLoop

    init(
        descriptor: Int32, interest: Interest, loop: ControlLoop,
        _ handler: @escaping @ControlPlane (Readiness) -> Void
    ) {
        self.descriptor = descriptor
        self.interest = interest
        self.loop = loop
        self.handler = handler
    }

    /// Changes the interest. Without interest the handler is not called, not even for a hang-up.
    package func update(_ interest: Interest) {
        guard interest != self.interest, !isCancelled else { return }
        self.interest = interest
        loop.interestChanged(of: self)
    }

    /// Ends the watch; the handler is not called any more, not even for events that the loop has already seen.
    package func cancel() {
        guard !isCancelled else { return }
        isCancelled = true
        handler = nil
        loop.remove(self)
    }

    /// Passes on the events that match the interest.
    func deliver(_ readiness: Readiness) {
        guard !interest.isEmpty else { return }
        let concerned = readiness.intersection(Readiness(rawValue: interest.rawValue).union([.hangup, .error]))
        if !concerned.isEmpty { handler?(concerned) }
    }
}

/// The sources of one descriptor, which share its single epoll registration.
@ControlPlane
final class DescriptorEntry {
    var sources: [DescriptorSource] = []
    /// The registered epoll events; zero when the descriptor is not in the set.
    var registered: UInt32 = 0
    /// Distinguishes this registration's events from those of an earlier descriptor with the same number.
    var generation: UInt32 = 0

    nonisolated init() {}

    /// Combined interest of the sources.
    var interest: Interest {
        var all: Interest = []
        for source in sources { all.formUnion(source.interest) }
        return all
    }
}
