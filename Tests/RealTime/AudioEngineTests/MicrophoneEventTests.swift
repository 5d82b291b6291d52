import CBTCall
import RealTimeStorage
import Testing

@testable import AudioEngine

struct MicrophoneEventTests {
    @Test func `the end of a live microphone is reported as soon as there is room for events`() throws {
        let commands = UnsafeMutablePointer<MessageQueue<Command>>.allocate(capacity: 1)
        commands.initialize(to: MessageQueue(capacity: 16))
        let events = UnsafeMutablePointer<MessageQueue<Event>>.allocate(capacity: 1)
        // One event fits beside the space reserved for those with storage.
        events.initialize(to: MessageQueue(capacity: 64))
        let counters = UnsafeMutablePointer<ThreadCounters>.allocate(capacity: 1)
        counters.initialize(to: ThreadCounters())
        let thread = UnsafeMutablePointer<RealtimeThread>.allocate(capacity: 1)
        thread.initialize(
            to: RealtimeThread(
                AudioEngineConfiguration(), commands: commands, events: events, counters: counters,
                commandDescriptor: -1, eventDescriptor: -1))
        defer {
            thread.deinitialize(count: 1).deallocate()
            commands.deinitialize(count: 1).deallocate()
            events.deinitialize(count: 1).deallocate()
            counters.deinitialize(count: 1).deallocate()
        }
        func take() -> AudioEngineEvent? {
            guard case .happened(let fact) = events.pointee.pop() else { return nil }
            return fact
        }
        func isLive() -> Bool { thread.pointee.isMicrophoneLive }
        // There is no call any more.
        thread.pointee.isMicrophoneLive = true
        let isFilled = events.pointee.push(.happened(.injectionEnded(1)))
        #expect(isFilled)
        thread.pointee.noteMicrophone()
        try #require(isLive())
        // The report follows without any other work to do.
        thread.pointee.step()
        #expect(isLive())
        #expect(take() == .injectionEnded(1))
        thread.pointee.step()
        #expect(!isLive())
        #expect(take() == .microphoneLive(false))
        thread.pointee.noteMicrophone()
        #expect(take() == nil)
    }
}
