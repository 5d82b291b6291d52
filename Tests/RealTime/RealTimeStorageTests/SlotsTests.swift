import RealTimeStorage
import TestSupport
import Testing

/// A port without function.
private struct PlainPort: ~Copyable {
    let id: UInt32
}

/// Some ports, and slots that hold none of them yet.
private final class Ports {
    var slots: Slots<PlainPort>
    let ports: [UnsafeMutablePointer<PlainPort>]

    init(capacity: Int, ids: [UInt32]) {
        slots = Slots(capacity: capacity)
        ports = ids.map { id in
            let port = UnsafeMutablePointer<PlainPort>.allocate(capacity: 1)
            port.initialize(to: PlainPort(id: id))
            return port
        }
    }

    deinit { for port in ports { port.deinitialize(count: 1).deallocate() } }

    func insert(_ index: Int) -> Bool { slots.insert(ports[index], as: ports[index].pointee.id) }
    func remove(_ index: Int) -> Bool { slots.remove(ports[index]) }
    func find(_ id: UInt32) -> UnsafeMutablePointer<PlainPort>? { slots.find(id) }
    func removeAll(_ take: (UnsafeMutablePointer<PlainPort>) -> Void) { slots.removeAll(take) }
    var count: Int { slots.count }
    var isEmpty: Bool { slots.isEmpty }
    /// Numbers of the present ports, in order.
    var ids: [UInt32] { slots.all.map { $0.pointee.id } }
}

struct SlotsTests {
    @Test func `ports take the first free places, and are visited in the order of the places`() {
        let bench = Ports(capacity: 4, ids: [7, 5, 3, 9])
        #expect(bench.isEmpty && bench.ids.isEmpty)
        for index in 0..<3 { #expect(bench.insert(index)) }
        #expect(bench.ids == [7, 5, 3])
        #expect(bench.remove(1))
        #expect(bench.ids == [7, 3])
        #expect(bench.insert(3))
        #expect(bench.ids == [7, 9, 3])
        #expect(bench.count == 3 && !bench.isEmpty)
    }

    @Test func `a port beyond the number of places is refused`() {
        let bench = Ports(capacity: 2, ids: [1, 2, 3])
        #expect(bench.insert(0) && bench.insert(1))
        #expect(!bench.insert(2))
        #expect(bench.ids == [1, 2] && bench.count == 2)
        #expect(bench.remove(0))
        #expect(bench.insert(2))
        #expect(bench.ids == [3, 2])
    }

    @Test func `a port is found by its number until it is removed`() {
        let bench = Ports(capacity: 3, ids: [4, 6])
        #expect(bench.find(4) == nil)
        #expect(bench.insert(0) && bench.insert(1))
        #expect(bench.find(6) == bench.ports[1])
        #expect(bench.find(5) == nil)
        #expect(bench.remove(1))
        #expect(bench.find(6) == nil && bench.find(4) == bench.ports[0])
    }

    @Test func `of two ports with one number the first is found, and each is removed separately`() {
        let bench = Ports(capacity: 3, ids: [8, 8])
        #expect(bench.insert(0) && bench.insert(1))
        #expect(bench.find(8) == bench.ports[0])
        #expect(bench.remove(0))
        #expect(bench.find(8) == bench.ports[1])
    }

    @Test func `removing an absent port changes nothing`() {
        let bench = Ports(capacity: 2, ids: [1, 2])
        #expect(!bench.remove(0))
        #expect(bench.insert(0))
        #expect(!bench.remove(1))
        #expect(bench.remove(0) && !bench.remove(0))
        #expect(bench.isEmpty)
    }

    @Test func `a port removed during iteration does not skip the others`() {
        let bench = Ports(capacity: 5, ids: [1, 2, 3, 4, 5])
        for index in 0..<5 { #expect(bench.insert(index)) }
        var visited: [UInt32] = []
        for port in bench.slots.all {
            visited.append(port.pointee.id)
            if port.pointee.id % 2 == 0 { bench.slots.remove(port) }
        }
        #expect(visited == [1, 2, 3, 4, 5])
        #expect(bench.ids == [1, 3, 5])
    }

    @Test func `all remaining ports are passed on once`() {
        let bench = Ports(capacity: 4, ids: [1, 2, 3])
        for index in 0..<3 { #expect(bench.insert(index)) }
        var given: [UInt32] = []
        bench.removeAll { given.append($0.pointee.id) }
        #expect(given == [1, 2, 3])
        #expect(bench.isEmpty && bench.ids.isEmpty)
        bench.removeAll { given.append($0.pointee.id) }
        #expect(given.count == 3)
    }

    @Test func `no order of insertions and removals loses a port or has one twice`() {
        var random = SeededGenerator(seed: 22)
        let bench = Ports(capacity: 6, ids: Array(0..<8))
        var held: Set<UInt32> = []
        for _ in 0..<10_000 {
            let index = random.below(8)
            let id = UInt32(index)
            if held.contains(id) {
                #expect(bench.remove(index))
                held.remove(id)
            } else if bench.insert(index) {
                held.insert(id)
            } else {
                #expect(held.count == 6)
            }
            #expect(bench.count == held.count)
            #expect(bench.ids.count == held.count && Set(bench.ids) == held)
        }
    }

    @Test func `a place far behind is visited after those before it were freed, and used again`() {
        let bench = Ports(capacity: 4, ids: [1, 2, 3, 4])
        for index in 0..<4 { #expect(bench.insert(index)) }
        for index in 0..<3 { #expect(bench.remove(index)) }
        #expect(bench.ids == [4] && bench.find(4) == bench.ports[3])
        #expect(bench.insert(1) && bench.ids == [2, 4])
        #expect(bench.remove(3) && bench.ids == [2] && bench.find(4) == nil)
        #expect(bench.insert(0) && bench.insert(2) && bench.insert(3))
        #expect(bench.ids == [2, 1, 3, 4] && bench.find(4) == bench.ports[3])
    }

    @Test func `a freed place is not found by its former port's number`() {
        let bench = Ports(capacity: 2, ids: [0, 1])
        #expect(bench.find(0) == nil)
        #expect(bench.insert(1) && bench.remove(1) && bench.insert(0))
        #expect(bench.find(1) == nil && bench.find(0) == bench.ports[0])
    }
}
