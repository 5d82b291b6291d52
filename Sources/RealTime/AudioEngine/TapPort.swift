import AudioDSP

/// Side of a call that a tap copies.
package enum TapSide: UInt8, Sendable, CaseIterable {
    /// Both sides, mixed.
    case both
    /// The uplink to the far end.
    case local
    /// The far end's audio.
    case remote
    /// Near end left, far end right; requires a layout with two channels.
    case stereo
}

/// The thread's side of a copy of a call for a recorder (`Audio1.OpenTap`): one block for each that the call exchanges. A
/// recorder that does not read loses blocks and delays nothing.
struct TapPort: ~Copyable {
    let id: UInt32
    /// Number of the call, which may be detached for a while (held).
    let call: UInt32
    let counters: UnsafeMutablePointer<TapCounters>
    /// Index in the poll set; -1 if not polled.
    var pollIndex = -1
    /// The recorder has closed its end.
    private(set) var isOver = false

    private let side: TapSide
    private var sink: BlockSender
    /// The far end's audio of this tick, and the block made of it.
    private let remote: UnsafeMutablePointer<Int16>
    private let mixed: UnsafeMutablePointer<Int16>
    private let blockCapacity: Int

    /// - Parameter counters: owned by the control side, which frees them after this port.
    init(
        id: UInt32, call: UInt32, side: TapSide, descriptor: Int32, rate: Int, layout: SampleLayout, isStream: Bool,
        bus: BusRates, counters: UnsafeMutablePointer<TapCounters>
    ) {
        self.id = id
        self.call = call
        self.side = side
        self.counters = counters
        sink = BlockSender(descriptor: descriptor, rate: rate, layout: layout, isStream: isStream, bus: bus)
        blockCapacity = bus.highest / 100
        remote = .allocate(capacity: blockCapacity)
        remote.initialize(repeating: 0, count: blockCapacity)
        mixed = .allocate(capacity: blockCapacity)
        mixed.initialize(repeating: 0, count: blockCapacity)
    }

    deinit {
        remote.deallocate()
        mixed.deallocate()
    }

    var descriptor: Int32 { @_noLocks get { sink.descriptor } }

    /// Sets the rate of the bus before the first block.
    @_noLocks
    mutating func adoptBus(_ index: Int) { sink.adoptBus(index) }

    /// Continues at another rate of the bus, between two ticks.
    ///
    /// - Parameters:
    ///   - local: the latest block of the uplink, of `frames` frames at the old rate.
    ///   - calls: that of all calls, which is the far end's unless several are active.
    @_noLocks
    mutating func changeBus(
        to index: Int, after local: UnsafePointer<Int16>, _ calls: UnsafePointer<Int16>, _ frames: Int
    ) {
        clear(remote, blockCapacity)
        switch side {
        case .both: sink.changeBus(to: index, after: mixed, right: mixed, frames)
        case .local: sink.changeBus(to: index, after: local, right: local, frames)
        case .remote: sink.changeBus(to: index, after: calls, right: calls, frames)
        case .stereo: sink.changeBus(to: index, after: local, right: calls, frames)
        }
    }

    /// Keeps the far end's audio of this tick.
    @_noLocks
    mutating func hear(_ block: UnsafePointer<Int16>, _ frames: Int) { Mixer.copy(block, frames, to: remote) }

    /// Sends the tick's 10 ms.
    ///
    /// - Parameter local: the uplink.
    @_noLocks
    mutating func serve(_ local: UnsafePointer<Int16>, _ frames: Int) {
        let code: Int32
        switch side {
        case .both:
            Mixer.copy(local, frames, to: mixed)
            Mixer.add(remote, frames, to: mixed)
            code = sink.send(mixed, frames)
        case .local: code = sink.send(local, frames)
        case .remote: code = sink.send(remote, frames)
        case .stereo: code = sink.send(left: local, right: remote, frames)
        }
        // Without a device that takes it, the far end has no audio.
        clear(remote, frames)
        if code == 0 {
            counters.pointee.blocksSent.add(1)
        } else if code == BlockSender.dropped {
            counters.pointee.blocksDropped.add(1)
        } else {
            isOver = true
        }
    }

    /// Handles a hang-up of the socket.
    @_noLocks
    mutating func hungUp() { isOver = true }
}

/// Counters of one tap, written by the real-time thread.
struct TapCounters: ~Copyable {
    let blocksSent = Counter()
    let blocksDropped = Counter()

    func snapshot(id: UInt32) -> EngineCounters.Tap {
        EngineCounters.Tap(id: id, blocksSent: blocksSent.read(), blocksDropped: blocksDropped.read())
    }
}
