package import ControlLoop
import FrameRings
import Synchronization
package import VideoPlan

/// The far end's picture as an application gives it.
package final class OfferedFrames: FrameConsumer {
    private let hub: FrameHub
    private let width: Int
    private let height: Int
    private let onEnd: Mutex<(@Sendable () -> Void)?>

    /// - Parameter onEnd: called once, on any thread.
    package init(_ hub: FrameHub, width: Int, height: Int, onEnd: @escaping @Sendable () -> Void) {
        self.hub = hub
        self.width = width
        self.height = height
        self.onEnd = Mutex(onEnd)
    }

    package func take(_ bytes: UnsafeRawBufferPointer, at nanoseconds: UInt64, isCard: Bool) {
        guard let picture = Picture(copying: bytes, width: width, height: height) else { return }
        hub.give(picture, at: nanoseconds, isCard: isCard)
    }

    package func end() {
        let handler = onEnd.withLock { handler in
            defer { handler = nil }
            return handler
        }
        handler?()
    }
}

/// The far end's picture as a program writes it to a V4L2 node (`[remote] source`).
@ControlPlane
package final class RemoteSource {
    /// Its size or state has changed.
    package let changes = Signal<Void>()
    package private(set) var format: PictureFormat?
    private let plan: PipelinePlan
    private let keeper: PipelineKeeper

    /// The size of the pictures, seen on a thread of the pipeline.
    private final class Size: Sendable {
        private let stored = Mutex((width: 0, height: 0))

        /// - Returns: whether it has changed.
        func note(_ picture: Picture) -> Bool {
            let new = (width: picture.width, height: picture.height)
            return stored.withLock { old in
                defer { old = new }
                return old != new
            }
        }

        func forget() { stored.withLock { $0 = (0, 0) } }
    }

    private let size = Size()
    /// The program that writes does not say its rate.
    private static let usualThousandths = 30_000

    package init(_ plan: PipelinePlan, _ hub: FrameHub) {
        self.plan = plan
        let relay = Relay()
        let size = size
        keeper = PipelineKeeper { picture in
            if size.note(picture) {
                let (width, height) = (picture.width, picture.height)
                Task { @ControlPlane in relay.source?.found(width, height) }
            }
            hub.give(picture, at: Picture.now, isCard: false)
        }
        relay.source = self
        keeper.onChange = { [weak self] keeper in
            guard let self else { return }
            if keeper.state != .running { forget() }
            changes.send()
        }
    }

    @ControlPlane
    private final class Relay {
        weak var source: RemoteSource?
    }

    package var problem: PictureError? {
        if case .failed(let error) = keeper.state { error } else { nil }
    }

    package func run(_ isWanted: Bool) { keeper.want(isWanted ? plan : nil) }

    /// Returns once it does not run. It must not be wanted.
    package func idle() async { await keeper.idle() }

    private func found(_ width: Int, _ height: Int) {
        guard keeper.state == .running || keeper.state == .starting else { return }
        format = PictureFormat(exactWidth: width, height: height, rateThousandths: Self.usualThousandths)
        changes.send()
    }

    private func forget() {
        format = nil
        size.forget()
    }
}
