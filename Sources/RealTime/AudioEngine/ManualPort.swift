import AudioDSP
import Glibc

/// The thread's side of manual rendering (`Audio1.OpenManual`): an application is the device. What it writes to one socket
/// goes to the far end, what the calls say comes to it through another; the timer is the clock of both.
///
/// What is written is read as that of an `InjectionPort` is, and is all that the far end hears: a tick that finds nothing is
/// silence, and waits for nobody.
struct ManualPort: ~Copyable {
    let id: UInt32
    let counters: UnsafeMutablePointer<ManualCounters>
    /// Where its descriptors stand in the poll set; -1: nowhere.
    var uplinkPoll = -1
    var downlinkPoll = -1
    /// The application has closed an end, and what it had said before has been said.
    private(set) var isOver = false

    private var uplink: InjectionPort
    private var downlink: BlockSender
    /// Nobody reads any more.
    private var isDeaf = false

    /// - Parameters:
    ///   - uplink: what the application writes to, and `downlink` what it reads from.
    ///   - counters: owned by the control side, which frees them after this port; so are `uplinkCounters`.
    init(
        id: UInt32, uplink: Int32, downlink: Int32, rate: Int, layout: SampleLayout, isStream: Bool, busRate: Int,
        counters: UnsafeMutablePointer<ManualCounters>, uplinkCounters: UnsafeMutablePointer<InjectionCounters>
    ) {
        self.id = id
        self.counters = counters
        self.uplink = InjectionPort(
            id: id, descriptor: uplink, rate: rate, layout: layout, isStream: isStream, busRate: busRate,
            counters: uplinkCounters)
        self.downlink = BlockSender(
            descriptor: downlink, rate: rate, layout: layout, isStream: isStream, busRate: busRate)
    }

    var uplinkDescriptor: Int32 { @_noLocks get { uplink.descriptor } }
    var downlinkDescriptor: Int32 { @_noLocks get { downlink.descriptor } }

    /// What goes to the far end in the next 10 ms, as `frames` of the bus.
    @_noLocks
    mutating func takeBlock(_ output: UnsafeMutablePointer<Int16>, _ frames: Int) {
        let isThere = uplink.takeBlock(output, frames)
        if !isThere {
            clear(output, frames)
            if !isDeaf { counters.pointee.blocksMissing.add(1) }
        }
        // One that has closed its ends is still heard out.
        if uplink.isSpent || isDeaf && !isThere { isOver = true }
    }

    /// Gives the application what the calls said in 10 ms.
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

    /// The last call is over, or held: what was to be said in it is not said in the next.
    @_noLocks
    mutating func forget() { uplink.forget() }

    var isForgetting: Bool { @_noLocks get { uplink.isForgetting } }

    @_noLocks
    mutating func goOnForgetting() { uplink.goOnForgetting() }

    /// An end was closed while there is nobody who could hear what is left.
    @_noLocks
    mutating func hungUp() { isOver = true }
}

/// What the real-time thread writes about manual rendering, beside what it writes about what was said.
struct ManualCounters: ~Copyable {
    let blocksGiven = Counter()
    let blocksDropped = Counter()
    let blocksMissing = Counter()
}
