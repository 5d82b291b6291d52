package import BluetoothTypes

/// Processes the headset's bytes to commands, one at a time.
extension AudioGateway {
    /// - Parameter bytes: split at any position.
    package mutating func bytesReceived(_ bytes: some Sequence<UInt8>, at now: Instant) -> [Action] {
        for input in reader.read(bytes) where isOpen {
            receive(input, at: now)
        }
        return finish()
    }

    private mutating func receive(_ input: ATReader.Input, at now: Instant) {
        guard quota.consume(at: now), queue.count < Self.queueLimit else {
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

    /// Whether the line receives a result code. Only lines that begin with AT do: a headset that echoes its input, or sends
    /// result codes itself, would cause an endless exchange. In the Headset Profile the AT may be missing.
    ///
    /// An empty line receives OK, because some headsets send one and wait. A headset that has sent anything else receives no
    /// answer to it: each echoed line begins with an empty one.
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
