import AudioDSP
import Glibc

/// The thread's side of manual rendering (`Audio1.OpenManual`): an application replaces the device. Its uplink socket feeds
/// the far end, its downlink socket receives the calls; the timer clocks both.
///
/// The uplink is read like an `InjectionPort` and is all that the far end hears: a tick without data is silence and waits
/// for nothing.
struct ManualPort: ~Copyable {
    let id: UInt32
    /// Sample rate of both directions in Hz.
    let rate: Int
    let counters: UnsafeMutablePointer<ManualCounters>
    /// Indices in the poll set; -1 if not polled.
    var uplinkPoll = -1
    var downlinkPoll = -1
    /// The application has closed an end, and its earlier audio has been played.
    private(set) var isOver = false

    private var uplink: InjectionPort
    private var downlink: BlockSender
    /// The application no longer reads.
    private var isDeaf = false

    /// - Parameters:
    ///   - uplink: the application writes to it; it reads from `downlink`.
    ///   - counters: owned by the control side, which frees them and `uplinkCounters` after this port.
    init(
        id: UInt32, uplink: Int32, downlink: Int32, rate: Int, layout: SampleLayout, isStream: Bool, bus: BusRates,
        counters: UnsafeMutablePointer<ManualCounters>, uplinkCounters: UnsafeMutablePointer<InjectionCounters>
    ) {
        self.id = id
        self.rate = rate
        self.counters = counters
        self.uplink = InjectionPort(
            id: id, descriptor: uplink, rate: rate, layout: layout, isStream: isStream, bus: bus,
            counters: uplinkCounters)
        self.downlink = BlockSender(
            descriptor: downlink, rate: rate, layout: layout, isStream: isStream, bus: bus)
    }

    /// Sets the rate of the bus before the first block.
    @_noLocks
    mutating func adoptBus(_ index: Int) {
        uplink.adoptBus(index)
        downlink.adoptBus(index)
    }

    /// Prepares for another rate of the bus; a negative index ends that.
    @_noLocks
    mutating func prepareBus(_ index: Int) { uplink.prepareBus(index) }

    /// Continues at another rate of the bus.
    ///
    /// - Parameter last: the latest block of the calls, of `frames` frames at the old rate.
    @_noLocks
    mutating func changeBus(to index: Int, after last: UnsafePointer<Int16>, _ frames: Int) {
        uplink.changeBus(to: index)
        downlink.changeBus(to: index, after: last, right: last, frames)
    }

    var uplinkDescriptor: Int32 { @_noLocks get { uplink.descriptor } }
    var downlinkDescriptor: Int32 { @_noLocks get { downlink.descriptor } }

    /// Produces the next 10 ms for the far end, as `frames` of the bus.
    @_noLocks
    mutating func takeBlock(_ output: UnsafeMutablePointer<Int16>, _ frames: Int) {
        let isThere = uplink.takeBlock(output, frames)
        if !isThere {
            clear(output, frames)
            if !isDeaf { counters.pointee.blocksMissing.add(1) }
        }
        // Audio of an application that has closed its ends is still played out.
        if uplink.isSpent || isDeaf && !isThere { isOver = true }
    }

    /// Gives the application 10 ms of the calls.
    @_noLocks
    mutating func giveBlock(_ input: UnsafePointer<Int16>, _ frames: Int) {
        if isDeaf { return }
        let code = downlink.send(input, frames)
        if code == 0 {
            counters.pointee.blocksGiven.add(1)
        } else if code == BlockSender.dropped {
            counters.pointee.blocksDropped.add(1)
        } else {
            isDeaf = true
        }
    }

    /// Discards waiting audio when the last call ends or is held, so that it is not played in the next call.
    @_noLocks
    mutating func forget() { uplink.forget() }

    var isForgetting: Bool { @_noLocks get { uplink.isForgetting } }

    @_noLocks
    mutating func goOnForgetting() { uplink.goOnForgetting() }

    /// Handles a closed end while nobody could hear the remaining audio.
    @_noLocks
    mutating func hungUp() { isOver = true }
}

/// Counters of manual rendering, beside those of its uplink; written by the real-time thread.
struct ManualCounters: ~Copyable {
    let blocksGiven = Counter()
    let blocksDropped = Counter()
    let blocksMissing = Counter()
}
