import BTCallAPI
import ControlLoop
import FrameRings
import Synchronization
import TestSupport
import VideoPlan

@testable import btcall_video

/// The pictures of calls, without cameras and GStreamer: tests give the frames.
@ControlPlane
final class FakePictures: PictureSource {
    nonisolated static let call = "/org/btcall/calls/00000000_0000_4000_8000_000000000001"
    nonisolated static let otherCall = "/org/btcall/calls/00000000_0000_4000_8000_000000000002"

    let endings = Signal<String>()
    let hub = FakeHub()
    /// The pictures that exist.
    var layouts: [TappedPicture: FrameLayout] = [:]
    /// The remote pictures of applications, by call.
    private(set) var sinks: [String: RemoteSink] = [:]
    /// Time to find a picture out.
    var delay: Duration = .zero
    private(set) var added = 0

    init() throws {
        let layout = try FrameLayout(width: 64, height: 48, framesPerSecond: 30)
        layouts = [
            TappedPicture(.local, of: nil): layout, TappedPicture(.local, of: Self.call): layout,
            TappedPicture(.local, of: Self.otherCall): layout,
        ]
    }

    func layout(of picture: TappedPicture) async throws(APIError) -> FrameLayout {
        if delay > .zero { await ControlLoop.shared.sleep(for: delay) }
        if let layout = layouts[picture] { return layout }
        guard let call = picture.call, layouts[TappedPicture(.local, of: call)] != nil else {
            throw APIError(.noSuchCall, "there is no such call, or it has no video")
        }
        throw APIError(.unavailable, "nobody gives the picture of the far end yet: see Picture")
    }

    func add(_ consumer: any FrameConsumer, to picture: TappedPicture) {
        added += 1
        guard layouts[picture] != nil else { return consumer.end() }
        hub.add(consumer, to: picture)
    }

    func remove(_ consumer: any FrameConsumer, from picture: TappedPicture) { hub.remove(consumer, from: picture) }

    func beginRemote(of call: String, _ layout: FrameLayout) async throws(APIError) -> any FrameConsumer {
        if delay > .zero { await ControlLoop.shared.sleep(for: delay) }
        guard layouts[TappedPicture(.local, of: call)] != nil else {
            throw APIError(.noSuchCall, "there is no such call, or it has no video")
        }
        guard sinks[call]?.isEnded ?? true else {
            throw APIError(.wrongState, "the call has a remote picture already")
        }
        let picture = TappedPicture(.remote, of: call)
        let sink = RemoteSink(hub, picture) { [weak self] in
            Task { @ControlPlane [weak self] in self?.remoteEnded(call) }
        }
        sinks[call] = sink
        layouts[picture] = layout
        return sink
    }

    private func remoteEnded(_ call: String) {
        guard sinks[call]?.isEnded == true else { return }
        layouts[TappedPicture(.remote, of: call)] = nil
    }

    /// Ends a call: its pictures, then the news.
    func end(_ call: String) {
        for side in PictureSide.allCases { endPicture(TappedPicture(side, of: call)) }
        endings.send(call)
    }

    func endPicture(_ picture: TappedPicture) {
        layouts[picture] = nil
        hub.end(picture)
    }
}

/// Consumers of pictures; frames come on any thread.
final class FakeHub: Sendable {
    private let consumers = Mutex<[(picture: TappedPicture, consumer: any FrameConsumer)]>([])

    var count: Int { consumers.withLock { $0.count } }

    func add(_ consumer: any FrameConsumer, to picture: TappedPicture) {
        consumers.withLock { $0.append((picture, consumer)) }
    }

    func remove(_ consumer: any FrameConsumer, from picture: TappedPicture) {
        consumers.withLock { $0.removeAll { $0.consumer === consumer && $0.picture == picture } }
    }

    func give(_ bytes: [UInt8], to picture: TappedPicture, at nanoseconds: UInt64 = 1, isCard: Bool = false) {
        bytes.withUnsafeBytes { give($0, to: picture, at: nanoseconds, isCard: isCard) }
    }

    func give(_ bytes: UnsafeRawBufferPointer, to picture: TappedPicture, at nanoseconds: UInt64, isCard: Bool) {
        // Under the lock, like the real hub.
        consumers.withLock { consumers in
            for entry in consumers where entry.picture == picture {
                entry.consumer.take(bytes, at: nanoseconds, isCard: isCard)
            }
        }
    }

    func end(_ picture: TappedPicture) {
        let ended = consumers.withLock { consumers in
            defer { consumers.removeAll { $0.picture == picture } }
            return consumers.filter { $0.picture == picture }.map(\.consumer)
        }
        for consumer in ended { consumer.end() }
    }
}

/// Takes the frames of a remote picture, and passes them to its taps.
final class RemoteSink: FrameConsumer {
    struct Taken {
        var count = 0
        var last: [UInt8] = []
        var nanoseconds: UInt64 = 0
        var isEnded = false
    }

    private let taken = Mutex(Taken())
    private let hub: FakeHub
    private let picture: TappedPicture
    private let onEnd: @Sendable () -> Void

    init(_ hub: FakeHub, _ picture: TappedPicture, onEnd: @escaping @Sendable () -> Void) {
        self.hub = hub
        self.picture = picture
        self.onEnd = onEnd
    }

    var frames: Taken { taken.withLock { $0 } }
    var isEnded: Bool { taken.withLock(\.isEnded) }

    func take(_ bytes: UnsafeRawBufferPointer, at nanoseconds: UInt64, isCard: Bool) {
        let copy = Array(bytes)
        taken.withLock { taken in
            taken.count += 1
            taken.last = copy
            taken.nanoseconds = nanoseconds
        }
        hub.give(bytes, to: picture, at: nanoseconds, isCard: isCard)
    }

    func end() {
        taken.withLock { $0.isEnded = true }
        hub.end(picture)
        onEnd()
    }
}
