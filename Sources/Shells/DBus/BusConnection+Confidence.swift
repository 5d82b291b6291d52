internal import BluetoothTypes
internal import ControlLoop

/// Who may read confidential properties.
package struct ConfidentialReaders: Sendable {
    /// Who they are, for those who are not: "root and members of group btcall".
    let description: String
    /// Whether the program with a unique bus name is one of them.
    let contains: @ControlPlane (_ sender: String) async -> Bool

    package init(_ description: String, _ contains: @escaping @ControlPlane (_ sender: String) async -> Bool) {
        self.description = description
        self.contains = contains
    }
}

/// Whom a program on the bus runs as.
package struct PeerCredentials: Hashable, Sendable {
    package let user: UInt32
    /// Nil when the bus does not know them.
    package let groups: [UInt32]?
}

/// An answer to `GetManagedObjects` that is given again.
struct ManagedAnswer {
    let reply: Message
    /// Until when.
    let end: Instant
}

// What is not for everybody, and who asks.
extension BusConnection {
    /// Programs whose credentials are remembered.
    private static let maximumCredentials = 256

    /// Whether somebody may read confidential properties.
    package func isReader(_ sender: String) async -> Bool {
        guard let readers else { return true }
        return await readers.contains(sender)
    }

    /// Asks the bus once for each program: a unique name is never given to another one while the bus lives.
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

    /// Something that `GetManagedObjects` has is other than before.
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
