import RealTimeStorage
import Testing

@testable import AudioEngine

/// The audio thread's code with its queues and counters, and no thread: a test calls its parts, in a time of its own.
final class UnstartedThread {
    let state: UnsafeMutablePointer<RealtimeThread>
    let events: UnsafeMutablePointer<MessageQueue<Event>>
    let counters: UnsafeMutablePointer<ThreadCounters>
    private let commands: UnsafeMutablePointer<MessageQueue<Command>>
    private var hasEnded = false

    /// - Parameters:
    ///   - eventCapacity: places of the queue of events.
    ///   - now: the thread's present time in nanoseconds; nil: the clock's.
    init(
        _ configuration: AudioEngineConfiguration = AudioEngineConfiguration(), eventCapacity: Int = 1_024,
        now: Int64? = nil
    ) {
        commands = .allocate(capacity: 1)
        commands.initialize(to: MessageQueue(capacity: 256))
        events = .allocate(capacity: 1)
        events.initialize(to: MessageQueue(capacity: eventCapacity))
        counters = .allocate(capacity: 1)
        counters.initialize(to: ThreadCounters())
        state = .allocate(capacity: 1)
        state.initialize(
            to: RealtimeThread(
                configuration, commands: commands, events: events, counters: counters, commandDescriptor: -1,
                eventDescriptor: -1))
        if let now { state.pointee.now = now }
    }

    deinit {
        end()
        commands.deinitialize(count: 1).deallocate()
        events.deinitialize(count: 1).deallocate()
        counters.deinitialize(count: 1).deallocate()
    }

    /// Ends the thread's state. The owner of ports calls it before it frees them.
    ///
    /// - Parameter take: gets the ports that the thread still has.
    func end(_ take: (Event) -> Void = { _ in }) {
        if hasEnded { return }
        hasEnded = true
        state.pointee.releaseAll(take)
        state.deinitialize(count: 1).deallocate()
    }

    /// The thread handles the command at once.
    func send(_ command: Command) {
        let isTaken = commands.pointee.push(command)
        #expect(isTaken)
        state.pointee.handleCommands()
    }
}
