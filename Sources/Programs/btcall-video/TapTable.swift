import BTCallAPI
import ControlLoop
import DBus
import FrameRings
import Glibc
import Logging
import VideoPlan

/// Pictures that clients read (taps) and give (offers), each with its client.
///
/// An entry ends with its call or picture, when its client closes it, closes its end of the wake-up or leaves the bus: a
/// client that dies leaves nothing behind.
@ControlPlane
final class TapTable {
    /// A new entry, for its client.
    struct Opened {
        let number: UInt32
        let memory: PassedDescriptor
        let wakeUp: PassedDescriptor
    }

    private enum Kind {
        case tap(RingConsumer, watch: DescriptorSource)
        case offer(OfferedPicture)
    }

    private struct Entry {
        /// The client's unique bus name.
        let owner: String
        let picture: TappedPicture
        let kind: Kind

        var isTap: Bool {
            if case .tap = kind { true } else { false }
        }
    }

    static let mostPerClient = 8
    static let most = 32
    /// Accepted pictures of an offer.
    static let acceptedSides = 16...4096
    static let acceptedRates = 1...120

    /// ``count`` has changed.
    let changes = Signal<Void>()
    private let bus: BusConnection
    private let pictures: any PictureSource
    private let logger: Logger
    private var entries: [UInt32: Entry] = [:]
    /// One for each client with entries.
    private var watches: [String: Subscription] = [:]
    private var lastNumber: UInt32 = 0

    init(bus: BusConnection, pictures: any PictureSource, logger: Logger) {
        self.bus = bus
        self.pictures = pictures
        self.logger = logger
        pictures.endings.subscribe(self) { table, call in
            table.release("the call has ended") { $0.picture.call == call }
        }
    }

    /// Number of taps and offers.
    var count: Int { entries.count }

    // MARK: Taps

    /// Opens a tap.
    ///
    /// - Parameter owner: unique bus name of the client.
    /// - Throws: `invalidArgument`, `limitExceeded`, `fault` without descriptors or memory; what the source throws.
    func open(_ picture: TappedPicture, of owner: String) async throws(APIError) -> Opened {
        guard picture.call != nil || picture.side == .local else {
            throw APIError(.invalidArgument, "call is / and side is remote; accepted for /: local")
        }
        try checkShare(owner)
        let layout = try await pictures.layout(of: picture)
        try checkShare(owner)
        let number = nextNumber()
        let opened: Opened
        do throws(SystemError) {
            let (consumer, ends) = try RingConsumer.make(layout) { [weak self] in
                Task { @ControlPlane [weak self] in self?.release(number, "the picture has ended") }
            }
            opened = Opened(
                number: number, memory: PassedDescriptor(taking: ends.memory),
                wakeUp: PassedDescriptor(taking: ends.wakeUp))
            let watch = try ControlLoop.shared.add(consumer.wakeUp, .hangup) { [weak self] _ in
                self?.release(number, "its client has closed it")
            }
            add(number, Entry(owner: owner, picture: picture, kind: .tap(consumer, watch: watch)))
            pictures.add(consumer, to: picture)
        } catch {
            throw Self.fault(error)
        }
        return opened
    }

    /// - Throws: `invalidArgument` unless the client has this tap.
    func close(_ number: UInt32, of owner: String) throws(APIError) {
        try remove(number, of: owner, "tap", isTap: true)
    }

    // MARK: Offers

    /// Begins the remote picture of a call, which the client writes.
    ///
    /// - Throws: as ``open(_:of:)``; `wrongState` for a call that has a remote picture.
    func offer(
        _ call: String, width: Int, height: Int, framesPerSecond rate: Int, of owner: String
    ) async throws(APIError) -> Opened {
        let layout = try Self.layout(width, height, rate)
        try checkShare(owner)
        let consumer = try await pictures.beginRemote(of: call, layout)
        let offered: (picture: OfferedPicture, ends: OfferedPicture.ClientEnds)
        do throws(APIError) {
            try checkShare(owner)
            do throws(SystemError) {
                offered = try OfferedPicture.make(layout, for: consumer)
            } catch {
                throw Self.fault(error)
            }
        } catch {
            consumer.end()
            throw error
        }
        let number = nextNumber()
        offered.picture.onEnd = { [weak self] complaint in
            self?.release(number, complaint ?? "its client has ended it")
        }
        add(
            number,
            Entry(owner: owner, picture: TappedPicture(.remote, of: call), kind: .offer(offered.picture)))
        return Opened(number: number, memory: offered.ends.memory, wakeUp: offered.ends.wakeUp)
    }

    /// - Throws: `invalidArgument` unless the client has this offer.
    func withdraw(_ number: UInt32, of owner: String) throws(APIError) {
        try remove(number, of: owner, "offer", isTap: false)
    }

    private static func layout(_ width: Int, _ height: Int, _ rate: Int) throws(APIError) -> FrameLayout {
        guard acceptedSides.contains(width), acceptedSides.contains(height), width % 2 == 0, height % 2 == 0,
            acceptedRates.contains(rate)
        else {
            throw APIError(
                .invalidArgument,
                "the picture is \(width)x\(height) with \(rate) frames per second; accepted: even sides of "
                    + "\(acceptedSides.lowerBound) to \(acceptedSides.upperBound) pixels, and "
                    + "\(acceptedRates.lowerBound) to \(acceptedRates.upperBound) frames per second")
        }
        do throws(FrameRingError) {
            return try FrameLayout(width: width, height: height, framesPerSecond: Double(rate))
        } catch {
            throw APIError(.invalidArgument, "\(error)")
        }
    }

    // MARK: All

    /// Ends everything, when the program ends.
    func stop() { release("btcall-video ends") { _ in true } }

    private func checkShare(_ owner: String) throws(APIError) {
        guard entries.values.count(where: { $0.owner == owner }) < Self.mostPerClient else {
            throw APIError(
                .limitExceeded,
                "you have \(Self.mostPerClient) taps and offers, the most for one program: close one first")
        }
        guard entries.count < Self.most else {
            throw APIError(
                .limitExceeded, "programs have \(Self.most) taps and offers, the most in all: close one first")
        }
    }

    private static func fault(_ error: SystemError) -> APIError {
        if error.code == ENOSYS || error.code == EINVAL {
            return APIError(.notSupported, "this kernel has no sealed memory: \(error)")
        }
        return APIError(.fault, "no memory for frames: \(error); see LimitNOFILE of btcall-video.service")
    }

    /// A number that no entry has.
    private func nextNumber() -> UInt32 {
        repeat { lastNumber = lastNumber == .max ? 1 : lastNumber + 1 } while entries[lastNumber] != nil
        return lastNumber
    }

    private func add(_ number: UInt32, _ entry: Entry) {
        entries[number] = entry
        let owner = entry.owner
        if watches[owner] == nil {
            // Also reports a client that has left already.
            watches[owner] = bus.watchName(owner) { [weak self] present in
                guard present == nil else { return }
                self?.release("its client has left the bus") { $0.owner == owner }
            }
        }
        logger.notice("\(owner) \(entry.isTap ? "reads" : "gives") \(entry.picture)")
        changes.send()
    }

    private func remove(_ number: UInt32, of owner: String, _ what: String, isTap: Bool) throws(APIError) {
        guard let entry = entries[number], entry.owner == owner, entry.isTap == isTap else {
            let own = entries.filter { $0.value.owner == owner && $0.value.isTap == isTap }.keys.sorted()
            let list = own.map { "\($0)" }.joined(separator: ", ")
            throw APIError(
                .invalidArgument, "you have no \(what) \(number); accepted: \(list.isEmpty ? "none now" : list)")
        }
        release(number, "closed")
    }

    private func release(_ reason: String, _ isConcerned: (Entry) -> Bool) {
        for (number, _) in entries.filter({ isConcerned($0.value) }).sorted(by: { $0.key < $1.key }) {
            release(number, reason)
        }
    }

    /// Ends an entry; does nothing if it has ended.
    private func release(_ number: UInt32, _ reason: String) {
        guard let entry = entries.removeValue(forKey: number) else { return }
        switch entry.kind {
        case .tap(let consumer, let watch):
            watch.cancel()
            pictures.remove(consumer, from: entry.picture)
            consumer.close()
        case .offer(let picture): picture.close()
        }
        if !entries.values.contains(where: { $0.owner == entry.owner }) {
            watches.removeValue(forKey: entry.owner)?.cancel()
        }
        logger.notice("\(entry.owner) no longer \(entry.isTap ? "reads" : "gives") \(entry.picture): \(reason)")
        changes.send()
    }
}
