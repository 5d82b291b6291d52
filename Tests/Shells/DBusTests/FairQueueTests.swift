import TestSupport
import Testing

@testable import DBus

@Suite struct FairQueueTests {
    private func queue(perSender: Int = 100, total: Int = 1000, guaranteed: Int = 1) -> FairQueue<String> {
        FairQueue(limits: .init(perSender: perSender, total: total, guaranteed: guaranteed))
    }

    private func fill(_ queue: inout FairQueue<String>, _ sender: String, _ count: Int) -> Int {
        (1...count).count { queue.add("\(sender)\($0)", cost: 1, from: sender) }
    }

    @Test func `senders take turns, each in its own order`() {
        var queue = queue()
        #expect(fill(&queue, "a", 4) == 4)
        #expect(fill(&queue, "b", 2) == 2)
        #expect(fill(&queue, "c", 1) == 1)
        #expect(queue.takeTurn(10, perSender: 10) == ["a1", "b1", "c1", "a2", "b2", "a3", "a4"])
        #expect(queue.isEmpty)
    }

    @Test func `a turn ends at its limit, and the next one goes on with the next sender`() {
        var queue = queue()
        _ = fill(&queue, "a", 4)
        _ = fill(&queue, "b", 4)
        #expect(queue.takeTurn(3, perSender: 10) == ["a1", "b1", "a2"])
        #expect(queue.takeTurn(3, perSender: 10) == ["b2", "a3", "b3"])
        #expect(queue.takeTurn(3, perSender: 10) == ["a4", "b4"])
        #expect(queue.takeTurn(3, perSender: 10) == [])
    }

    @Test func `one sender has no more than its share of a turn, even when it is alone`() {
        var queue = queue()
        _ = fill(&queue, "a", 5)
        #expect(queue.takeTurn(10, perSender: 2) == ["a1", "a2"])
        _ = fill(&queue, "b", 1)
        #expect(queue.takeTurn(10, perSender: 2) == ["a3", "b1", "a4"])
        #expect(queue.isWaiting("a") && !queue.isWaiting("b"))
    }

    @Test func `only a sender whose queue is full is refused`() {
        var queue = queue(perSender: 3)
        #expect(fill(&queue, "a", 10) == 3)
        #expect(!queue.hasRoom(for: "a"))
        #expect(queue.hasRoom(for: "b"))
        #expect(fill(&queue, "b", 2) == 2)
        _ = queue.takeTurn(1, perSender: 1)
        #expect(queue.hasRoom(for: "a"))
    }

    @Test func `many senders that fill their queues leave room for a later one`() {
        var queue = queue(perSender: 1000, total: 1000, guaranteed: 5)
        var accepted = 0
        for sender in 1...300 { accepted += fill(&queue, "flood\(sender) ", 1000) }
        #expect(accepted <= 1000 + 300 * 5)
        #expect(fill(&queue, "late", 10) == 5)
        // The first sender's remaining elements leave room again.
        #expect(queue.takeTurn(2, perSender: 2).first == "flood1 1")
    }

    @Test func `a long element counts as several, and taking it makes room for as many`() {
        var queue = queue(perSender: 10)
        var taken: [Bool] = []
        taken.append(queue.add("long", cost: 8, from: "a"))
        taken.append(queue.add("long too", cost: 3, from: "a"))
        taken.append(queue.add("short", cost: 2, from: "a"))
        #expect(taken == [true, false, true])
        #expect(queue.takeTurn(1, perSender: 1) == ["long"])
        let isTaken = queue.add("long too", cost: 8, from: "a")
        #expect(isTaken)
        #expect(queue.takeTurn(9, perSender: 9) == ["short", "long too"])
        #expect(queue.isEmpty && queue.hasRoom(for: "a"))
    }

    @Test func `an element that must not be refused is appended even to a full queue, in order`() {
        var queue = queue(perSender: 1)
        #expect(fill(&queue, "a", 2) == 1)
        queue.append("reply", cost: 1, from: "a")
        #expect(queue.takeTurn(9, perSender: 9) == ["a1", "reply"])
    }

    @Test func `a sender whose next element is not ready keeps its order and delays nobody`() {
        var queue = queue(perSender: 20, total: 60)
        for element in ["a 1", "a 2", "b 1"] { _ = queue.add(element, cost: 1, from: String(element.prefix(1))) }
        let others = queue.takeTurn(9, perSender: 9) { _, element in element != "a 1" }
        #expect(others == ["b 1"])
        let none = queue.takeTurn(9, perSender: 9) { _, _ in false }
        #expect(none == [])
        let rest = queue.takeTurn(9, perSender: 9)
        #expect(rest == ["a 1", "a 2"])
    }

    @Test(arguments: 1...20 as ClosedRange<UInt64>)
    func `with random input every accepted element comes out once, in its sender's order`(seed: UInt64) {
        var random = SeededGenerator(seed: seed)
        var queue = queue(perSender: 20, total: 60)
        var accepted: [String: [Int]] = [:]
        var taken: [String: [Int]] = [:]
        func checkTurn(_ most: Int, _ perSender: Int) {
            var counts: [Substring: Int] = [:]
            for element in queue.takeTurn(most, perSender: perSender) {
                let parts = element.split(separator: " ")
                counts[parts[0], default: 0] += 1
                taken[String(parts[0]), default: []].append(Int(parts[1]) ?? -1)
            }
            #expect(counts.values.allSatisfy { $0 <= perSender })
            #expect(counts.values.reduce(0, +) <= most)
        }
        for number in 0..<2000 {
            let sender = "s\(Int.random(in: 0..<6, using: &random))"
            if queue.add("\(sender) \(number)", cost: .random(in: 1...4, using: &random), from: sender) {
                accepted[sender, default: []].append(number)
            }
            if Int.random(in: 0..<3, using: &random) == 0 {
                checkTurn(.random(in: 0...5, using: &random), .random(in: 1...3, using: &random))
            }
        }
        while !queue.isEmpty { checkTurn(7, 3) }
        #expect(taken == accepted)
    }
}
