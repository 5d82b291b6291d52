import AudioDSP
import CBTCall
import Glibc

// Manual rendering: an application in place of a device.
extension RealtimeThread {
    /// Nothing is routed, and an application plays the device's part.
    var isManual: Bool { @_noLocks get { master == nil && manual != nil } }

    /// The previous device has faded out: the application's audio goes to the far end unchanged.
    var takesManual: Bool { @_noLocks get { isManual && !crossFade.isRunning } }

    @_noLocks
    mutating func attachManual(_ port: ManualPointer) {
        if manual == nil {
            port.pointee.adoptBus(busIndex)
            port.pointee.prepareBus(comingBus)
            manual = port
            // Nothing takes over what a dead device has not played.
            isBereft = false
            history.forget()
            return
        }
        // Not reached: the control side allows one at a time.
        report(.manualEnded(port))
    }

    @_noLocks
    mutating func releaseManual() {
        guard let port = manual else { return }
        manual = nil
        report(.manualEnded(port))
    }

    /// Adds the poll entries from `count` on; returns the new count. While its audio is used, reading detects its end.
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

    /// Releases manual rendering whose application has closed it.
    @_noLocks
    mutating func endManual() {
        if let manual, manual.pointee.isOver { releaseManual() }
    }

    /// Takes the application's audio in place of a microphone.
    @_noLocks
    mutating func readManual(_ output: UnsafeMutablePointer<Int16>) {
        manual?.pointee.takeBlock(output, tickFrames)
    }

    /// Gives the application the calls' audio before any processing for a device.
    @_noLocks
    mutating func giveManual(_ block: UnsafePointer<Int16>) {
        if isManual && hasClockedCall() { manual?.pointee.giveBlock(block, tickFrames) }
    }
}
