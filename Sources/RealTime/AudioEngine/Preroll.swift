import AudioDSP

/// The beginning of a word that came before its link was routed: a headset that opens its link to talk speaks at once.
///
/// The far end hears such a link later by the time that passed until it was routed and a talk gate opened, and the rest of
/// its audio after the link has closed.
struct Preroll: ~Copyable {
    /// Maximum delay: a controller that is slow to open a link takes more than 200 ms.
    static var milliseconds: Int { @_noLocks get { 300 } }

    private let ring: SampleRing
    private var limit: Int
    /// Frames passed at a time.
    private var block: Int
    /// The link whose audio it delays, or delayed; nil: it is empty and not in use.
    private var link: UInt32?

    /// Frames that hold the maximum delay, and two blocks more, at any rate of the bus.
    static func capacity(_ bus: BusRates) -> Int { bus.highest * (milliseconds + 20) / 1000 }

    /// Begins at the lowest rate of the bus.
    init(bus: BusRates) {
        limit = bus.lowest * Self.milliseconds / 1000
        block = bus.lowest / 100
        ring = SampleRing(capacity: Self.capacity(bus))
    }

    /// Frames of captured audio that a link keeps until it is routed.
    var keptFrames: Int { @_noLocks get { limit &+ block } }

    /// Sets the rate of the bus in Hz. Audio that waits is dropped: the bus keeps its rate while it `isWaiting`.
    @_noLocks
    mutating func setRate(_ rate: Int) {
        _ = ring.discard(ring.available)
        limit = rate * Self.milliseconds / 1000
        block = rate / 100
    }

    /// Begins with what a link has captured so far, and forgets an earlier one.
    @_noLocks
    mutating func begin(_ id: UInt32, _ samples: UnsafePointer<Int16>, _ frames: Int) {
        _ = ring.discard(ring.available)
        let surplus = frames &- limit
        // By pairs, so that doubled audio begins with an even frame.
        let skipped = surplus > 0 ? (surplus &+ 1) & ~1 : 0
        _ = ring.write(samples + skipped, frames &- skipped)
        link = id
    }

    /// Drops what waits. The link's audio is not delayed any more.
    @_noLocks
    mutating func end() {
        _ = ring.discard(ring.available)
        link = nil
    }

    /// Audio of the link waits, perhaps longer than the link lives.
    var isWaiting: Bool { @_noLocks get { link != nil && ring.available > 0 } }

    /// Replaces a block of the uplink by the audio that is due.
    ///
    /// - Parameters:
    ///   - id: the terminal that the block comes from; nil without one that is heard.
    ///   - isOpen: a far end hears the person. While none does, the latest audio waits.
    /// - Returns: false when the block stays as it is: it does not come from such a link, and nothing is left of one.
    @_noLocks
    mutating func pass(
        _ samples: UnsafeMutablePointer<Int16>, from id: UInt32?, isOpen: Bool
    ) -> Bool {
        guard let link else { return false }
        let isFilling = if let id { id == link } else { false }
        if isFilling { _ = ring.write(samples, block) }
        if !isOpen {
            let surplus = isFilling ? ring.available &- limit : ring.available
            if surplus > 0 { _ = ring.discard((surplus &+ 1) & ~1) }
        }
        if !isFilling, ring.available == 0 {
            self.link = nil
            return false
        }
        let frames = isOpen ? ring.read(samples, block) : 0
        clear(samples + frames, block &- frames)
        return true
    }
}
