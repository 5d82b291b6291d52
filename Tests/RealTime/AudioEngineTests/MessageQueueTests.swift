import Testing

@testable import AudioEngine

struct MessageQueueTests {
    @Test func `messages come out in order until the queue is empty`() {
        let queue = MessageQueue(capacity: 4)
        for number in 0..<4 {
            let isPut = queue.push(Message(.mute, id: 1, number: Int64(number)))
            #expect(isPut)
        }
        let isPutInFull = queue.push(Message(.mute, id: 1))
        #expect(!isPutInFull)
        let freeInFull = queue.free()
        #expect(freeInFull == 0)
        var message = Message(.none, id: 0)
        for number in 0..<4 {
            let isTaken = queue.pop(into: &message)
            #expect(isTaken)
            #expect(message.number == Int64(number))
        }
        let isTakenFromEmpty = queue.pop(into: &message)
        #expect(!isTakenFromEmpty)
    }

    @Test func `two threads exchange a million messages without loss`() async {
        let queue = UnsafeMutablePointer<MessageQueue>.allocate(capacity: 1)
        queue.initialize(to: MessageQueue(capacity: 64))
        defer { queue.deinitialize(count: 1).deallocate() }
        nonisolated(unsafe) let shared = queue
        let count: Int64 = 1_000_000
        let thread = startThread {
            var number: Int64 = 0
            while number < count {
                if shared.pointee.push(Message(.mute, id: 0, number: number)) { number += 1 }
            }
        }
        var expected: Int64 = 0
        var message = Message(.none, id: 0)
        var isOrdered = true
        while expected < count {
            if queue.pointee.pop(into: &message) {
                isOrdered = isOrdered && message.number == expected
                expected += 1
            }
        }
        #expect(isOrdered)
        _ = thread
    }
}
