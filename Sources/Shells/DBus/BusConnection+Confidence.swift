internal import BluetoothTypes
internal import ControlLoop

/// Decides who may read confidential properties.
package struct ConfidentialReaders: Sendable {
    /// Who they are, for refusals: "root and members of group btcall".
    let description: String
    /// Whether the program with a unique bus name is one of them.
    let contains: @ControlPlane (_ sender: String) async -> Bool

    package init(_ description: String, _ contains: @escaping @ControlPlane (_ sender: String) async -> Bool) {
        self.description = description
        self.contains = contains
    }
}

/// User and groups of a program on the bus.
package struct PeerCredentials: Hashable, Sendable {
    package let user: UInt32
    /// Nil when the bus does not know them.
    package let groups: [UInt32]?
}

/// A cached answer to `GetManagedObjects`.
struct ManagedAnswer {
    let reply: Message
    /// Expiry of the answer.
    let end: Instant
}

// Confidential properties, and who may read them.
extension BusConnection {
    /// Most programs whose credentials are remembered.
    private static let maximumCredentials = 256

    /// Whether a program may read confidential properties.
    package func isReader(_ sender: String) async -> Bool {
        guard let readers else { return true }
        return await readers.contains(sender)
    }

    /// Asks the bus once for each program: a unique name is never reused while the bus lives.
    package func credentials(of busName: String) async throws(BusError) -> PeerCredentials {
        if let known = peerCredentials[busName] { return known }
        let generation = generation
        let reply = try await call(
            Self.busName, Self.busPath, Self.busName, "GetConnectionCredentials", [.string(busName)])
        guard let values = reply.first?.vardictValue, let user = values["UnixUserID"]?.uint32Value else {
            throw .failed("the bus gave no user of \(busName)")
        }
        let found = PeerCredentials(
            user: user, groups: values["UnixGroupIDs"]?.arrayValue?.compactMap(\.uint32Value))
        guard self.generation == generation, peerCredentials[busName] == nil else { return found }
        if credentialOrder.count >= Self.maximumCredentials {
            peerCredentials[credentialOrder.removeFirst()] = nil
        }
        peerCredentials[busName] = found
        credentialOrder.append(busName)
        return found
    }

    // MARK: The objects in one answer

    /// Drops cached answers after a change of the objects.
    func forgetAnswers() { managedAnswers = [:] }

    func managedObjects(for call: MethodCall, _ message: Message) async throws(BusError) -> Message {
        let isFull = await isReader(call.sender)
        let key = "\(isFull) \(call.path)"
        let now = ControlLoop.now
        if let known = managedAnswers[key], now < known.end { return try known.reply.copy(to: message) }
        let objects = Value.dictionary(
            "o", "a{sa{sv}}",
            tree.paths(below: call.path).map { path in
                let interfaces = (tree.objects[path] ?? [:]).values.sorted { $0.name < $1.name }
                return DictionaryEntry(.objectPath(path), description(of: interfaces, isFull: isFull))
            })
        let reply = try message.reply([objects], as: try Signature("a{oa{sa{sv}}}"))
        if let age = answerAges[call.path], age > .zero {
            managedAnswers[key] = ManagedAnswer(reply: reply, end: now.advanced(by: age))
        }
        return reply
    }
}
