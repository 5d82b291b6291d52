import AudioDSP
import CBTCall
import Glibc

// What applications add to the microphone.
extension RealtimeThread {
    @_noLocks
    mutating func attachInjection(_ command: Message) {
        guard let storage = command.storage else { return }
        let injection = storage.assumingMemoryBound(to: InjectionPort.self)
        var index = 0
        while index < Self.maximumInjections {
            if injections[index] == nil {
                injections[index] = injection
                return
            }
            index += 1
        }
        // The control side counts; it does not come to this.
        report(.injectionEnded, id: command.id, storage: storage)
    }

    /// Adds the injections' poll entries from `count` on, and returns how many entries there are then. They are not waited
    /// for, but their end is.
    @_noLocks
    mutating func preparePollsOfInjections(_ count: Int) -> Int {
        // Blocks are taken: the end shows when the socket is read.
        let isHeard = hasClockedCall()
        var count = count
        var index = 0
        while index < Self.maximumInjections {
            if let injection = injections[index] {
                injection.pointee.pollIndex = isHeard ? -1 : count
                if !isHeard {
                    polls[count] = pollfd(fd: injection.pointee.descriptor, events: 0, revents: 0)
                    count += 1
                }
            }
            index += 1
        }
        return count
    }

    @_noLocks
    mutating func serviceInjections() {
        var index = 0
        while index < Self.maximumInjections {
            if let injection = injections[index], injection.pointee.pollIndex > 0,
                polls[injection.pointee.pollIndex].revents != 0
            {
                injection.pointee.hungUp()
            }
            index += 1
        }
    }

    /// Gives back the injections of which nothing is left.
    @_noLocks
    mutating func endInjections() {
        var index = 0
        while index < Self.maximumInjections {
            if let injection = injections[index], injection.pointee.isSpent {
                injections[index] = nil
                report(.injectionEnded, id: injection.pointee.id, storage: UnsafeMutableRawPointer(injection))
            }
            index += 1
        }
    }

    /// Adds what the applications say to what goes to the far end.
    @_noLocks
    mutating func mixInjections(_ output: UnsafeMutablePointer<Int16>) {
        var index = 0
        clear(injected, tickFrames)
        var isAny = false
        // A device that nobody talks over ticks as well.
        while hasClockedCall() && index < Self.maximumInjections {
            if let injection = injections[index], injection.pointee.takeBlock(scratch, tickFrames) {
                Mixer.add(scratch, tickFrames, to: injected)
                isAny = true
            }
            index += 1
        }
        // Always applied, so that a change of volume takes its time, too, when nobody says anything.
        applicationGain.apply(injected, tickFrames)
        if isAny { Mixer.add(injected, tickFrames, to: output) }
    }

    /// The last call is over, or held: what was to be said in it is not said in the next.
    @_noLocks
    mutating func forgetInjections() {
        if hasClockedCall() { return }
        var index = 0
        while index < Self.maximumInjections {
            if let injection = injections[index] { injection.pointee.forget() }
            index += 1
        }
        manual?.pointee.forget()
    }

    /// Something that is to be thrown away still waits in a socket.
    @_noLocks
    func isForgetting() -> Bool {
        var index = 0
        while index < Self.maximumInjections {
            if let injection = injections[index], injection.pointee.isForgetting { return true }
            index += 1
        }
        return manual?.pointee.isForgetting ?? false
    }

    @_noLocks
    mutating func goOnForgetting() {
        var index = 0
        while index < Self.maximumInjections {
            if let injection = injections[index] { injection.pointee.goOnForgetting() }
            index += 1
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
        var index = 0
        while index < Self.maximumCalls {
            if let call = calls[index], call.pointee.isClocked { return true }
            index += 1
        }
        return false
    }
}
