import AudioDSP
import CBTCall
import Glibc

// Copies of calls for recorders.
extension RealtimeThread {
    @_noLocks
    mutating func attachTap(_ command: Message) {
        guard let storage = command.storage else { return }
        let tap = storage.assumingMemoryBound(to: TapPort.self)
        var index = 0
        while index < Self.maximumTaps {
            if taps[index] == nil {
                taps[index] = tap
                return
            }
            index += 1
        }
        // The control side counts; it does not come to this.
        report(.tapEnded, id: command.id, storage: storage)
    }

    @_noLocks
    mutating func detachTap(_ id: UInt32) {
        var index = 0
        while index < Self.maximumTaps {
            if let tap = taps[index], tap.pointee.id == id { tap.pointee.hungUp() }
            index += 1
        }
    }

    /// Adds the taps' poll entries from `count` on, and returns how many entries there are then. Nothing comes from a
    /// recorder but its end.
    @_noLocks
    mutating func preparePollsOfTaps(_ count: Int) -> Int {
        var count = count
        var index = 0
        while index < Self.maximumTaps {
            if let tap = taps[index] {
                tap.pointee.pollIndex = count
                polls[count] = pollfd(fd: tap.pointee.descriptor, events: 0, revents: 0)
                count += 1
            }
            index += 1
        }
        return count
    }

    @_noLocks
    mutating func serviceTaps() {
        var index = 0
        while index < Self.maximumTaps {
            if let tap = taps[index], tap.pointee.pollIndex > 0, polls[tap.pointee.pollIndex].revents != 0 {
                tap.pointee.hungUp()
            }
            index += 1
        }
    }

    /// Gives back the taps that are over.
    @_noLocks
    mutating func endTaps() {
        var index = 0
        while index < Self.maximumTaps {
            if let tap = taps[index], tap.pointee.isOver {
                taps[index] = nil
                report(.tapEnded, id: tap.pointee.id, storage: UnsafeMutableRawPointer(tap))
            }
            index += 1
        }
    }

    /// What one call's far end says in this tick.
    @_noLocks
    mutating func tapRemote(_ call: UInt32, _ block: UnsafePointer<Int16>) {
        var index = 0
        while index < Self.maximumTaps {
            if let tap = taps[index], tap.pointee.call == call { tap.pointee.hear(block, tickFrames) }
            index += 1
        }
    }

    @_noLocks
    private func isClocked(_ id: UInt32) -> Bool {
        if let call = call(id) { return call.pointee.isClocked }
        return id == pcmCall && isPCMClocked
    }

    /// Sends the tick to the recorders of the calls that have it.
    @_noLocks
    mutating func sendTaps() {
        var index = 0
        while index < Self.maximumTaps {
            if let tap = taps[index], isClocked(tap.pointee.call) {
                if isSilent(tap.pointee.call) {
                    clear(scratch, tickFrames)
                    tap.pointee.serve(scratch, tickFrames)
                } else {
                    tap.pointee.serve(uplink, tickFrames)
                }
            }
            index += 1
        }
    }
}
