import AudioDSP
import CBTCall
import Glibc
import RealTimeStorage

// What applications add to the microphone.
extension RealtimeThread {
    @_noLocks
    mutating func attachInjection(_ injection: InjectionPointer) {
        // The control side counts; it does not come to this.
        if !injections.insert(injection, as: injection.pointee.id) { report(.injectionEnded(injection)) }
    }

    /// Adds the injections' poll entries from `count` on, and returns how many entries there are then. They are not waited
    /// for, but their end is.
    @_noLocks
    mutating func preparePollsOfInjections(_ count: Int) -> Int {
        // Blocks are taken: the end shows when the socket is read.
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

    /// Gives back the injections of which nothing is left.
    @_noLocks
    mutating func endInjections() {
        for injection in injections.all where injection.pointee.isSpent {
            injections.remove(injection)
            report(.injectionEnded(injection))
        }
    }

    /// Adds what the applications say to what goes to the far end.
    @_noLocks
    mutating func mixInjections(_ output: UnsafeMutablePointer<Int16>) {
        clear(injected, tickFrames)
        var isAny = false
        // A device that nobody talks over ticks as well.
        if hasClockedCall() {
            for injection in injections.all {
                if !injection.pointee.takeBlock(scratch, tickFrames) { continue }
                Mixer.add(scratch, tickFrames, to: injected)
                isAny = true
            }
        }
        // Always applied, so that a change of volume takes its time, too, when nobody says anything.
        applicationGain.apply(injected, tickFrames)
        if isAny { Mixer.add(injected, tickFrames, to: output) }
    }

    /// The last call is over, or held: what was to be said in it is not said in the next.
    @_noLocks
    mutating func forgetInjections() {
        if hasClockedCall() { return }
        for injection in injections.all {
            injection.pointee.forget()
        }
        manual?.pointee.forget()
    }

    /// Something that is to be thrown away still waits in a socket.
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

    /// Of the calls whose audio is a descriptor.
    @_noLocks
    func hasClockedDescriptor() -> Bool {
        calls.all.contains { $0.pointee.isClocked }
    }
}
