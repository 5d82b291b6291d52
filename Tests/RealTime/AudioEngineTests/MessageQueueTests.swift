import RealTimeStorage
import Testing

@testable import AudioEngine

struct MessageQueueTests {
    /// Content of a command put in here.
    private func blocks(_ command: Command?) -> Int? {
        guard case .setPrimeBlocks(let blocks) = command else { return nil }
        return blocks
    }

    @Test func `messages come out in order until the queue is empty`() {
        let queue = MessageQueue<Command>(capacity: 4)
        for number in 0..<4 {
            let isPut = queue.push(.setPrimeBlocks(number))
            #expect(isPut)
        }
        let isPutInFull = queue.push(.stop)
        #expect(!isPutInFull)
        let freeInFull = queue.free()
        #expect(freeInFull == 0)
        for number in 0..<4 {
            let message = queue.pop()
            #expect(blocks(message) == number)
        }
        let fromEmpty = queue.pop()
        #expect(blocks(fromEmpty) == nil)
    }

    @Test func `two threads exchange a million messages without loss`() async {
        let queue = UnsafeMutablePointer<MessageQueue<Command>>.allocate(capacity: 1)
        queue.initialize(to: MessageQueue(capacity: 64))
        defer { queue.deinitialize(count: 1).deallocate() }
        nonisolated(unsafe) let shared = queue
        let count = 1_000_000
        let thread = startThread {
            var number = 0
            while number < count {
                if shared.pointee.push(.setPrimeBlocks(number)) { number += 1 }
            }
        }
        var expected = 0
        var isOrdered = true
        while expected < count {
            if let message = queue.pointee.pop() {
                isOrdered = isOrdered && blocks(message) == expected
                expected += 1
            }
        }
        #expect(isOrdered)
        _ = thread
    }

    @Test func `an event arrives with all its contents`() throws {
        let queue = MessageQueue<Event>(capacity: 2)
        let storage = VoicePointer.allocate(capacity: 1)
        defer { storage.deallocate() }
        var isPut = queue.push(.happened(.routed(nil, gapMicroseconds: 7)))
        #expect(isPut)
        isPut = queue.push(.voiceReturned(storage))
        #expect(isPut)
        guard case .happened(let fact) = queue.pop(), case .voiceReturned(let returned) = queue.pop() else {
            Issue.record("other events came out")
            return
        }
        #expect(fact == .routed(nil, gapMicroseconds: 7))
        #expect(returned == storage)
    }
}
