/// A fixed number of places for ports of one kind, each found by the number that its owner has given it.
///
/// Ports come to the real-time thread by commands and go by events; a place holds a pointer, and the port belongs to whoever
/// made it.
///
/// The places are made before the thread starts; nothing here allocates, locks or counts references after that. That is
/// proven where it is used: `@_noLocks` cannot be said of generic code, but the compiler looks through each use in a function
/// that has it, with the kind of port put in. For that it has to see the code from another module and in debug builds too,
/// which it does of what is `public` and `@inlinable` only.
public struct Slots<Port: ~Copyable>: ~Copyable {
    public typealias Place = UnsafeMutablePointer<Port>

    public let capacity: Int
    @usableFromInline var taken = 0
    @usableFromInline let places: UnsafeMutablePointer<Place?>
    /// Of the port in the same place.
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

    /// Places that are taken.
    @inlinable
    public var count: Int { taken }

    @inlinable
    public var isEmpty: Bool { taken == 0 }

    /// Puts a port in the first free place; false when there is none.
    ///
    /// - Parameter number: what `find` finds it by.
    @inlinable
    public mutating func insert(_ port: Place, as number: UInt32) -> Bool {
        var index = 0
        while index < capacity {
            if places[index] == nil {
                places[index] = port
                numbers[index] = number
                taken &+= 1
                return true
            }
            index &+= 1
        }
        return false
    }

    /// Frees the place of a port, which stays as it is; false when it has none.
    @inlinable @discardableResult
    public mutating func remove(_ port: Place) -> Bool {
        var index = 0
        while index < capacity {
            if same(places[index], port) {
                places[index] = nil
                taken &-= 1
                return true
            }
            index &+= 1
        }
        return false
    }

    /// The first port of this number; nil when there is none.
    @inlinable
    public func find(_ number: UInt32) -> Place? {
        var index = 0
        while index < capacity {
            if numbers[index] == number, let port = places[index] { return port }
            index &+= 1
        }
        return nil
    }

    /// The ports in the order of their places. One may be removed while its turn is; the others are still visited.
    @inlinable
    public var all: Ports { Ports(places, end: isEmpty ? 0 : capacity) }

    /// Control side, when the thread has ended: gives out what is still there.
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

        // The one of the standard library is not looked through.
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

/// Whether two pointers are to the same thing, or to nothing.
@inlinable
public func same<Pointee: ~Copyable>(
    _ left: UnsafeMutablePointer<Pointee>?, _ right: UnsafeMutablePointer<Pointee>?
) -> Bool {
    UInt(bitPattern: left) == UInt(bitPattern: right)
}
