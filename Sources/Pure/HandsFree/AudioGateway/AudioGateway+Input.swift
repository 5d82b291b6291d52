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
        guard isAnswered(input) else { return }
        if awaiting == nil {
            execute(input, at: now)
        } else {
            queue.append(input)
        }
    }

    /// Whether the line gets a result code. Only what begins with AT does: a headset that echoes what it hears, or sends
    /// result codes itself, would be in an endless dialogue with us. In the Headset Profile the AT may be missing.
    ///
    /// An empty line gets OK, because some headsets send one and wait. A headset that has sent something else gets silence
    /// for it too: each line that it echoes begins with an empty one.
    private mutating func isAnswered(_ input: ATReader.Input) -> Bool {
        switch input {
        case .problem: return true
        case .line(let line):
            if ATCommand.isCommand(line) || isHeadsetProfile && line.first == UInt8(ascii: "+") { return true }
            guard line.isEmpty else {
                saysOtherThings = true
                return false
            }
            return !saysOtherThings
        }
    }
}
