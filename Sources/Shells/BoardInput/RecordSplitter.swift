/// Cuts a stream of bytes into records of one size, however it is divided.
struct RecordSplitter: Sendable {
    private let size: Int
    private var rest: [UInt8] = []

    /// - Parameter size: of a record in bytes, 1 or more.
    init(size: Int) {
        self.size = size
    }

    /// Returns the events of the records completed by these bytes, in order; a nil event leaves one out.
    mutating func read<Event>(
        _ bytes: some Collection<UInt8>, _ event: (ArraySlice<UInt8>) -> Event?
    ) -> [Event] {
        rest.append(contentsOf: bytes)
        var events: [Event] = []
        var start = 0
        while rest.count - start >= size {
            if let event = event(rest[start..<(start + size)]) { events.append(event) }
            start += size
        }
        rest.removeFirst(start)
        return events
    }
}
