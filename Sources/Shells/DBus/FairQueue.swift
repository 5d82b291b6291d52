/// Waiting calls, with a queue for each sender: each sender gets the same share, however much it sends.
///
/// A pure value. Adding and taking cost the same however many elements wait.
struct FairQueue<Element> {
    struct Limits: Sendable {
        /// Most waiting cost of one sender.
        var perSender: Int
        /// Most waiting cost of all senders together, apart from the guaranteed cost.
        var total: Int
        /// Waiting cost that each sender may have in any case.
        var guaranteed = 1
    }

    /// One sender's elements in the order of arrival.
    private struct Line {
        private var elements: [(element: Element, cost: Int)] = []
        private var head = 0
        private(set) var cost = 0

        var isEmpty: Bool { head == elements.count }

        var first: Element? { head < elements.count ? elements[head].element : nil }

        mutating func append(_ element: Element, _ cost: Int) {
            elements.append((element, cost))
            self.cost += cost
        }

        mutating func takeFirst() -> (element: Element, cost: Int)? {
            guard head < elements.count else { return nil }
            let first = elements[head]
            head += 1
            cost -= first.cost
            // Taken elements are removed once they fill half of the array, so that each element is moved at most once.
            if head * 2 >= elements.count {
                elements.removeFirst(head)
                head = 0
            }
            return first
        }
    }

    private let limits: Limits
    private var lines: [String: Line] = [:]
    /// Senders with a queue, the next one first; those before `head` have had their turn.
    private var ring: [String] = []
    private var head = 0
    private var cost = 0

    init(limits: Limits) {
        self.limits = limits
    }

    var isEmpty: Bool { lines.isEmpty }

    func isWaiting(_ sender: String) -> Bool { lines[sender] != nil }

    /// Whether the sender may add an element of the least cost.
    func hasRoom(for sender: String) -> Bool { fits(1, lines[sender]?.cost ?? 0) }

    /// Adds an element behind those of the same sender.
    ///
    /// A sender may have `perSender` waiting, and beyond the guaranteed cost never more than the room that is left in total:
    /// a sender with much waiting leaves as much again to others, and a sender with little waiting is not refused because of
    /// others.
    ///
    /// - Parameter cost: at least 1.
    /// - Returns: false when the sender has too much waiting; nothing has changed then.
    mutating func add(_ element: Element, cost: Int, from sender: String) -> Bool {
        guard fits(cost, lines[sender]?.cost ?? 0) else { return false }
        append(element, cost: cost, from: sender)
        return true
    }

    /// Adds an element that must not be refused, behind those of the same sender.
    mutating func append(_ element: Element, cost: Int, from sender: String) {
        if lines[sender] == nil { ring.append(sender) }
        lines[sender, default: Line()].append(element, cost)
        self.cost += cost
    }

    /// Takes elements, one of each sender in turn.
    ///
    /// - Parameters:
    ///   - most: of all senders.
    ///   - perSender: of one sender; its further elements wait for the next turn.
    ///   - isReady: whether an element may be taken in this turn; if not, those behind it wait as well.
    mutating func takeTurn(
        _ most: Int, perSender: Int, where isReady: (_ sender: String, Element) -> Bool = { _, _ in true }
    ) -> [Element] {
        var taken: [Element] = []
        var counts: [String: Int] = [:]
        var rested: [String] = []
        while taken.count < most, let sender = nextSender() {
            // Taken out of the dictionary meanwhile, so that the array is not copied.
            guard var line = lines.removeValue(forKey: sender), let first = line.first else { continue }
            guard isReady(sender, first), let (element, cost) = line.takeFirst() else {
                lines[sender] = line
                rested.append(sender)
                continue
            }
            taken.append(element)
            self.cost -= cost
            guard !line.isEmpty else { continue }
            lines[sender] = line
            counts[sender, default: 0] += 1
            if counts[sender] == perSender { rested.append(sender) } else { ring.append(sender) }
        }
        ring += rested
        return taken
    }

    private mutating func nextSender() -> String? {
        guard head < ring.count else { return nil }
        let sender = ring[head]
        head += 1
        if head * 2 >= ring.count {
            ring.removeFirst(head)
            head = 0
        }
        return sender
    }

    private func fits(_ cost: Int, _ waiting: Int) -> Bool {
        let new = waiting + cost
        return new <= limits.guaranteed || new <= min(limits.perSender, limits.total - self.cost)
    }
}
