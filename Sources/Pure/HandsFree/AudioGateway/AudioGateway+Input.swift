package import BluetoothTypes

/// From the bytes of the headset to the commands that are carried out, one at a time.
extension AudioGateway {
    /// - Parameter bytes: in any split.
    package mutating func bytesReceived(_ bytes: some Sequence<UInt8>, at now: Instant) -> [Action] {
        for input in reader.read(bytes) where isOpen {
            receive(input, at: now)
        }
        return finish()
    }

    private mutating func receive(_ input: ATReader.Input, at now: Instant) {
        guard quota.take(at: now), queue.count < Self.queueLimit else {
            close(.flooded)
            return
        }
        if awaiting == nil {
            execute(input, at: now)
        } else {
            queue.append(input)
        }
    }
}
