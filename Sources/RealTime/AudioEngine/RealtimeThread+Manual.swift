import AudioDSP
import CBTCall
import Glibc

// An application in place of a device.
extension RealtimeThread {
    /// Nothing is routed, and an application hears the calls and speaks for the person.
    var isManual: Bool { @_noLocks get { master == nil && manual != nil } }

    /// The device that had the call before has faded out: what is written goes to the far end as it is.
    var takesManual: Bool { @_noLocks get { isManual && !crossFade.isRunning } }

    @_noLocks
    mutating func attachManual(_ port: ManualPointer) {
        if manual == nil {
            manual = port
            // Nobody goes on with what a dead device has not played.
            isBereft = false
            history.forget()
            return
        }
        // The control side has one at a time; it does not come to this.
        report(.manualEnded(port))
    }

    @_noLocks
    mutating func releaseManual() {
        guard let port = manual else { return }
        manual = nil
        report(.manualEnded(port))
    }

    /// Adds the poll entries from `count` on, and returns how many entries there are then. While it is heard, its end shows
    /// when it is read.
    @_noLocks
    mutating func preparePollsOfManual(_ count: Int) -> Int {
        guard let manual else { return count }
        manual.pointee.uplinkPoll = -1
        manual.pointee.downlinkPoll = -1
        if isManual && hasClockedCall() { return count }
        manual.pointee.uplinkPoll = count
        polls[count] = pollfd(fd: manual.pointee.uplinkDescriptor, events: 0, revents: 0)
        manual.pointee.downlinkPoll = count + 1
        polls[count + 1] = pollfd(fd: manual.pointee.downlinkDescriptor, events: 0, revents: 0)
        return count + 2
    }

    @_noLocks
    mutating func serviceManual() {
        guard let manual, manual.pointee.uplinkPoll > 0 else { return }
        if polls[manual.pointee.uplinkPoll].revents != 0 || polls[manual.pointee.downlinkPoll].revents != 0 {
            manual.pointee.hungUp()
        }
    }

    /// Gives back the one whose application has closed it.
    @_noLocks
    mutating func endManual() {
        if let manual, manual.pointee.isOver { releaseManual() }
    }

    /// What the application says instead of a microphone.
    @_noLocks
    mutating func takeManual(_ output: UnsafeMutablePointer<Int16>) {
        manual?.pointee.takeBlock(output, tickFrames)
    }

    /// What the calls say, before anything is done to it for a device.
    @_noLocks
    mutating func giveManual(_ block: UnsafePointer<Int16>) {
        if isManual && hasClockedCall() { manual?.pointee.giveBlock(block, tickFrames) }
    }
}
