/// A fixed number of places for ports of one kind, each found by the number that its owner assigned.
///
/// Ports reach the real-time thread by commands and leave by events; a place holds a pointer, and the port's creator owns
/// it.
///
/// The places are allocated before the thread starts; afterwards nothing here allocates, locks or counts references. Callers
/// prove that: `@_noLocks` cannot be written on generic code, but the compiler checks each specialised use in a function
/// that has it. For that it has to see the code from another module and in debug builds too, so the code is `public` and
/// `@inlinable`.
public struct Slots<Port: ~Copyable>: ~Copyable {
    public typealias Place = UnsafeMutablePointer<Port>

    public let capacity: Int
    @usableFromInline var taken = 0
    /// Number of places up to the last occupied one: most are never used, and the thread goes through all of its ports several
    /// times in each turn.
    @usableFromInline var end = 0
    @usableFromInline let places: UnsafeMutablePointer<Place?>
    /// Number of the port in the same place.
    @usableFromInline let numbers: UnsafeMutablePointer<UInt32>

    public init(capacity: Int) {
        self.capacity = capacity
        places = .allocate(capacity: capacity)
        places.initialize(repeating: nil, count: capacity)
        numbers = .allocate(capacity: capacity)
        numbers.initialize(repeating: 0, count: capacity)
    }

    deinit {
        places.deallocate()
        numbers.deallocate()
    }

    /// Number of occupied places.
    @inlinable
    public var count: Int { taken }

    @inlinable
    public var isEmpty: Bool { taken == 0 }

    /// Puts a port in the first free place; false when all are occupied.
    ///
    /// - Parameter number: the number for `find`.
    @inlinable
    public mutating func insert(_ port: Place, as number: UInt32) -> Bool {
        var index = 0
        while index < capacity {
            if places[index] == nil {
                places[index] = port
                numbers[index] = number
                taken &+= 1
                if index >= end { end = index &+ 1 }
                return true
            }
            index &+= 1
        }
        return false
    }

    /// Frees the place of a port and leaves the port alone; false when it has no place.
    @inlinable @discardableResult
    public mutating func remove(_ port: Place) -> Bool {
        var index = 0
        while index < end {
            if same(places[index], port) {
                places[index] = nil
                taken &-= 1
                while end > 0, places[end &- 1] == nil { end &-= 1 }
                return true
            }
            index &+= 1
        }
        return false
    }

    /// First port with this number; nil if none has it.
    @inlinable
    public func find(_ number: UInt32) -> Place? {
        var index = 0
        while index < end {
            if numbers[index] == number, let port = places[index] { return port }
            index &+= 1
        }
        return nil
    }

    /// The ports in the order of their places. The current one may be removed during iteration; the others are still
    /// visited. One that is inserted meanwhile may be left out.
    @inlinable
    public var all: Ports { Ports(places, end: end) }

    /// Control side, after the thread has ended: passes on all remaining ports.
    public mutating func removeAll(_ take: (Place) -> Void) {
        for port in all {
            remove(port)
            take(port)
        }
    }

    @frozen
    public struct Ports: Sequence, IteratorProtocol {
        @usableFromInline let places: UnsafeMutablePointer<Place?>
        @usableFromInline let end: Int
        @usableFromInline var index = 0

        @inlinable
        init(_ places: UnsafeMutablePointer<Place?>, end: Int) {
            self.places = places
            self.end = end
        }

        // The compiler cannot check the standard library's version.
        @inlinable
        public func makeIterator() -> Self { self }

        @inlinable
        public mutating func next() -> Place? {
            while index < end {
                let place = places[index]
                index &+= 1
                if let place { return place }
            }
            return nil
        }
    }
}

/// Whether two pointers are equal or both nil.
@inlinable
public func same<Pointee: ~Copyable>(
    _ left: UnsafeMutablePointer<Pointee>?, _ right: UnsafeMutablePointer<Pointee>?
) -> Bool {
    UInt(bitPattern: left) == UInt(bitPattern: right)
}
