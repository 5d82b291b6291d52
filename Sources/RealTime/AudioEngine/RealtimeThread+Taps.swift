import AudioDSP
import CBTCall
import Glibc
import RealTimeStorage

// Copies of calls for recorders.
extension RealtimeThread {
    @_noLocks
    mutating func attachTap(_ tap: TapPointer) {
        tap.pointee.adoptBus(busIndex)
        // Not reached: the control side limits the number.
        if !taps.insert(tap, as: tap.pointee.id) { report(.tapEnded(tap)) }
    }

    @_noLocks
    mutating func detachTap(_ id: UInt32) {
        for tap in taps.all where tap.pointee.id == id {
            tap.pointee.hungUp()
        }
    }

    /// Adds the taps' poll entries from `count` on; returns the new count. A recorder sends nothing; only its end is polled.
    @_noLocks
    mutating func preparePollsOfTaps(_ count: Int) -> Int {
        var count = count
        for tap in taps.all {
            tap.pointee.pollIndex = count
            polls[count] = pollfd(fd: tap.pointee.descriptor, events: 0, revents: 0)
            count += 1
        }
        return count
    }

    @_noLocks
    mutating func serviceTaps() {
        for tap in taps.all where tap.pointee.pollIndex > 0 && polls[tap.pointee.pollIndex].revents != 0 {
            tap.pointee.hungUp()
        }
    }

    /// Releases taps that have ended.
    @_noLocks
    mutating func endTaps() {
        for tap in taps.all where tap.pointee.isOver {
            taps.remove(tap)
            report(.tapEnded(tap))
        }
    }

    /// Gives a tap the far end's audio of one call in this tick.
    @_noLocks
    mutating func tapRemote(_ call: UInt32, _ block: UnsafePointer<Int16>) {
        for tap in taps.all where tap.pointee.call == call {
            tap.pointee.hear(block, tickFrames)
        }
    }

    @_noLocks
    private func isClocked(_ id: UInt32) -> Bool {
        if let call = calls.find(id) { return call.pointee.isClocked }
        return isPCM(id) && isPCMClocked
    }

    /// Sends the tick to the recorders of clocked calls.
    @_noLocks
    mutating func sendTaps() {
        for tap in taps.all where isClocked(tap.pointee.call) {
            if isSilent(tap.pointee.call) {
                clear(scratch, tickFrames)
                tap.pointee.serve(scratch, tickFrames)
            } else {
                tap.pointee.serve(uplink, tickFrames)
            }
        }
    }
}
