import BTCallAPI
import BluetoothTypes
import ControlLoop
import FrameRings
import Pictures
import VideoCapture
import VideoPlan

extension PictureService {
    /// A program that reads a picture.
    struct Tap {
        let picture: TappedPicture
        let consumer: any FrameConsumer
        let format: PictureFormat
        /// The hub that it gets frames of; nil: none now.
        var hub: FrameHub?
    }

    /// A remote picture of an application.
    struct RemoteOffer {
        let number: Int
        let format: PictureFormat
        let hub: FrameHub
    }

    private static let remoteTimeout = Duration.seconds(5)
    private static let remoteLook = Duration.milliseconds(50)
}

// The pictures as taps and offers need them.
extension PictureService: PictureSource {
    func layout(of picture: TappedPicture) async throws(APIError) -> FrameLayout {
        try await Self.require(PipelinePlan.usual)
        if let call = picture.call { try await check(call) }
        let format: PictureFormat
        switch picture.side {
        case .local: format = localFormat(of: picture.call)
        case .remote:
            guard let call = picture.call else { throw Self.noRemote }
            format = try await remoteFormat(of: call)
        }
        promised[picture] = format
        do throws(FrameRingError) {
            return try FrameLayout(
                width: format.width, height: format.height, framesPerSecond: format.framesPerSecond)
        } catch {
            throw APIError(.fault, "\(error)")
        }
    }

    func add(_ consumer: any FrameConsumer, to picture: TappedPicture) {
        guard let format = promised[picture] else { return consumer.end() }
        taps.append(Tap(picture: picture, consumer: consumer, format: format))
        evaluate()
    }

    func remove(_ consumer: any FrameConsumer, from picture: TappedPicture) {
        guard let index = taps.firstIndex(where: { $0.consumer === consumer }) else { return }
        taps.remove(at: index).hub?.remove(consumer)
        if !taps.contains(where: { $0.picture == picture }) { promised[picture] = nil }
        evaluate()
    }

    func beginRemote(of call: String, _ layout: FrameLayout) async throws(APIError) -> any FrameConsumer {
        try await Self.require(PipelinePlan.usual)
        try await check(call)
        guard offers[call] == nil else { throw APIError(.wrongState, "the call has a remote picture already") }
        lastOffer += 1
        let (number, hub) = (lastOffer, FrameHub())
        let format = PictureFormat(
            exactWidth: layout.width, height: layout.height, rateThousandths: layout.rateThousandths)
        offers[call] = RemoteOffer(number: number, format: format, hub: hub)
        evaluate()
        return OfferedFrames(hub, width: layout.width, height: layout.height) { [weak self] in
            Task { @ControlPlane in self?.endOffer(of: call, number) }
        }
    }

    /// - Throws: `notSupported` if an element is not installed.
    static func require(_ elements: [PipelinePlan.Element]) async throws(APIError) {
        do throws(PictureError) {
            try await GStreamer.require(elements)
        } catch {
            throw APIError(.notSupported, "\(error)")
        }
    }

    /// - Throws: `noSuchCall`.
    private func check(_ call: String) async throws(APIError) {
        if calls.calls.contains(where: { $0.path == call }) { return }
        // It may have come a moment ago.
        await calls.refresh()
        guard calls.calls.contains(where: { $0.path == call }) else {
            throw APIError(.noSuchCall, "there is no call \(call), or it has no video")
        }
    }

    private func localFormat(of call: String?) -> PictureFormat {
        let isPresent = call == nil || call == plan.call
        return isPresent ? local.format ?? nextFormat : nextFormat
    }

    private static let noRemote = APIError(
        .unavailable,
        "the call has no remote picture: its application gives one with OfferRemote, or [remote] source names a node")

    /// Waits for the first picture of the configured node, which is opened for this.
    private func remoteFormat(of call: String) async throws(APIError) -> PictureFormat {
        if let present = remotePicture(of: call) { return present.format }
        guard source != nil, call == plan.call else { throw Self.noRemote }
        awaitedRemotes[call, default: 0] += 1
        evaluate()
        defer {
            awaitedRemotes[call] = awaitedRemotes[call].flatMap { $0 > 1 ? $0 - 1 : nil }
            evaluate()
        }
        let end = ControlLoop.now.advanced(by: Self.remoteTimeout)
        while ControlLoop.now < end {
            if let present = remotePicture(of: call) { return present.format }
            await ControlLoop.shared.sleep(for: Self.remoteLook)
        }
        let problem = source?.problem.map { ": \($0)" } ?? ""
        throw APIError(.unavailable, "no picture comes from \(settings.remoteSource ?? "the node")\(problem)")
    }

    // MARK: Ends

    private func endOffer(of call: String, _ number: Int) {
        guard let offer = offers[call], offer.number == number else { return }
        offers[call] = nil
        end(taps.filter { $0.hub === offer.hub })
        evaluate()
    }

    private func end(_ ended: [Tap]) {
        taps.removeAll { tap in ended.contains { $0.consumer === tap.consumer } }
        for tap in ended {
            tap.hub?.remove(tap.consumer)
            tap.consumer.end()
        }
    }

    func endAllPictures() {
        end(taps)
        offers = [:]
    }

    func endPicturesOfEndedCalls() {
        let present = Set(calls.calls.map(\.path))
        let ended = knownCalls.subtracting(present)
        knownCalls = present
        for call in ended.sorted() {
            offers[call] = nil
            end(taps.filter { $0.picture.call == call })
            promised = promised.filter { $0.key.call != call }
            endings.send(call)
        }
    }

    // MARK: Frames

    /// Gives each tap the frames of its picture, if that exists now.
    func attachTaps() {
        var ended: [Tap] = []
        for index in taps.indices {
            let tap = taps[index]
            let present = present(tap.picture)
            if let present, present.format != tap.format {
                ended.append(tap)
                continue
            }
            guard present?.hub !== tap.hub else { continue }
            tap.hub?.remove(tap.consumer)
            present?.hub.add(tap.consumer)
            taps[index].hub = present?.hub
        }
        end(ended)
    }

    private func present(_ picture: TappedPicture) -> (format: PictureFormat, hub: FrameHub)? {
        switch picture.side {
        case .local:
            guard picture.call == nil || picture.call == plan.call else { return nil }
            return local.format.map { ($0, local.hub) }
        case .remote: return picture.call.flatMap { remotePicture(of: $0) }
        }
    }
}
