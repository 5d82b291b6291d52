import CBTCall
import RealTimeStorage
import Testing

@testable import AudioEngine

struct MicrophoneEventTests {
    @Test func `the end of a live microphone is reported as soon as there is room for events`() throws {
        // One event fits beside the space reserved for those with storage.
        let thread = UnstartedThread(eventCapacity: 64)
        func take() -> AudioEngineEvent? {
            guard case .happened(let fact) = thread.events.pointee.pop() else { return nil }
            return fact
        }
        func isLive() -> Bool { thread.state.pointee.isMicrophoneLive }
        // There is no call any more.
        thread.state.pointee.isMicrophoneLive = true
        let isFilled = thread.events.pointee.push(.happened(.injectionEnded(1)))
        #expect(isFilled)
        thread.state.pointee.noteMicrophone()
        try #require(isLive())
        // The report follows without any other work to do.
        thread.state.pointee.step()
        #expect(isLive())
        #expect(take() == .injectionEnded(1))
        thread.state.pointee.step()
        #expect(!isLive())
        #expect(take() == .microphoneLive(false))
        thread.state.pointee.noteMicrophone()
        #expect(take() == nil)
    }
}
