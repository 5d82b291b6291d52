import AudioDSP
import CBTCall
import Glibc
import RealTimeStorage

// Audio that applications add to the uplink.
extension RealtimeThread {
    @_noLocks
    mutating func attachInjection(_ injection: InjectionPointer) {
        injection.pointee.adoptBus(busIndex)
        injection.pointee.prepareBus(comingBus)
        // Not reached: the control side limits the number.
        if !injections.insert(injection, as: injection.pointee.id) { report(.injectionEnded(injection)) }
    }

    /// Adds the injections' poll entries from `count` on; returns the new count. The thread polls for their end only, not
    /// for data.
    @_noLocks
    mutating func preparePollsOfInjections(_ count: Int) -> Int {
        // While blocks are taken, reading the socket detects its end.
        let isHeard = hasClockedCall()
        var count = count
        for injection in injections.all {
            injection.pointee.pollIndex = isHeard ? -1 : count
            if !isHeard {
                polls[count] = pollfd(fd: injection.pointee.descriptor, events: 0, revents: 0)
                count += 1
            }
        }
        return count
    }

    @_noLocks
    mutating func serviceInjections() {
        for injection in injections.all
        where injection.pointee.pollIndex > 0 && polls[injection.pointee.pollIndex].revents != 0 {
            injection.pointee.hungUp()
        }
    }

    /// Releases injections that have nothing left to play.
    @_noLocks
    mutating func endInjections() {
        for injection in injections.all where injection.pointee.isSpent {
            injections.remove(injection)
            report(.injectionEnded(injection))
        }
    }

    /// Adds the injections to the uplink.
    @_noLocks
    mutating func mixInjections(_ output: UnsafeMutablePointer<Int16>) {
        clear(injected, tickFrames)
        var isAny = false
        // Ticks also occur on a device without a call.
        if hasClockedCall() {
            for injection in injections.all {
                if !injection.pointee.takeBlock(scratch, tickFrames) { continue }
                Mixer.add(scratch, tickFrames, to: injected)
                isAny = true
            }
        }
        // Always applied, so that a change of volume ramps also while no application plays.
        applicationGain.apply(injected, tickFrames)
        if isAny {
            Mixer.add(injected, tickFrames, to: output)
            isUplinkDoubled = false
        }
    }

    /// Discards waiting audio when the last call ends or is held, so that it is not played in the next call.
    @_noLocks
    mutating func forgetInjections() {
        if hasClockedCall() { return }
        for injection in injections.all {
            injection.pointee.forget()
        }
        manual?.pointee.forget()
    }

    /// Whether data to be discarded still waits in a socket.
    @_noLocks
    func isForgetting() -> Bool {
        injections.all.contains { $0.pointee.isForgetting } || manual?.pointee.isForgetting ?? false
    }

    @_noLocks
    mutating func goOnForgetting() {
        for injection in injections.all {
            injection.pointee.goOnForgetting()
        }
        manual?.pointee.goOnForgetting()
    }

    @_noLocks
    func hasClockedCall() -> Bool {
        isPCMClocked || hasClockedDescriptor()
    }

    /// Only calls whose audio is a descriptor.
    @_noLocks
    func hasClockedDescriptor() -> Bool {
        calls.all.contains { $0.pointee.isClocked }
    }
}
