internal import BluetoothTypes
internal import CDBus
internal import ControlLoop
internal import Logging

/// A message of another program that waits for its turn.
enum WaitingMessage {
    /// A call of an existing method, with arguments of its types.
    case call(MethodCall, ExportedInterface.Method, Message)
    /// A reply to a call of ours, queued behind calls of the same program.
    case reply(Message)
}

/// Running handlers of one program's calls.
struct RunningHandlers {
    /// For calls with a reply.
    var waiting = 0
    /// For calls without a reply.
    var silent = 0

    var isIdle: Bool { waiting == 0 && silent == 0 }
}

// Calls from other programs. Messages are read from the bus as fast as they come: all programs share one socket, so an
// unread message would delay bluetoothd and everybody else. A program's calls wait in a queue of its own (`FairQueue`); when
// it is full, further calls are refused early and cheaply. Each turn of the loop starts a few calls, of all programs in
// turn.
extension BusConnection {
    /// Most waiting calls of one program; a long one counts as several.
    static let waitingLimits = FairQueue<WaitingMessage>.Limits(
        perSender: 1024, total: 8192, guaranteed: 16)
    /// Most running handlers of one program, separately for calls with and without a reply.
    static let handlersPerSender = 128
    /// Calls started in one turn of the loop. A handler takes a few milliseconds at most, and delays a headset's command by
    /// that time.
    private static let callsPerTurn = 8
    private static let callsPerSenderAndTurn = 4
    /// Most calls without a reply that one program starts in 10 ms. Nothing else slows such a program down: its calls would
    /// keep the loop busy, and the answers to others waiting, for as long as it sends.
    private static let silentCallsPerSpan = 8
    private static let span = Duration.milliseconds(10)
    /// Longest object path in bytes that an answer repeats.
    private static let longestPath = 1024
    /// Bytes of a call that count as one.
    private static let costUnit = 1024

    /// Handles the calls of a name's owner before all others, without a limit: for a service that this program depends on.
    package func prefer(_ name: String) {
        guard NameRule.busName.isValid(name) else { return log.error("cannot prefer '\(name)'") }
        preferred.append(follow(name))
    }

    private func isPreferred(_ sender: String) -> Bool {
        sender == Self.busName || preferred.contains { $0.owner == sender }
    }

    // MARK: Taking messages

    /// Whether a message is a standard query without a reply, which needs no work. Checked before anything else is done with
    /// it.
    func isIdleQuestion(_ message: OpaquePointer) -> Bool {
        guard dbus_message_get_type(message) == DBUS_MESSAGE_TYPE_METHOD_CALL, dbus_message_get_no_reply(message) != 0
        else { return false }
        return Self.standardQuestions.contains { dbus_message_is_method_call(message, $0.interface, $0.member) != 0 }
    }

    private static let standardQuestions: [(interface: String, member: String)] = [
        (propertiesName, "Get"), (propertiesName, "GetAll"), (managerName, "GetManagedObjects"),
        (introspectableName, "Introspect"), (peerName, "Ping"), (peerName, "GetMachineId"),
    ]

    func callReceived(_ message: Message) {
        let sender = message.sender
        do throws(BusError) {
            guard !isPreferred(sender) else {
                let (interface, method) = try find(message)
                try check(message, interface, method)
                return run(method, call(message, interface, method, try message.arguments()), message) {}
            }
            guard waitingCalls.hasRoom(for: sender) else { throw tooManyCalls(of: sender) }
            let (interface, method) = try find(message)
            guard message.expectsReply || !method.isReading else { return }
            try check(message, interface, method)
            let (arguments, size) = try message.callArguments()
            guard
                waitingCalls.add(
                    .call(call(message, interface, method, arguments), method, message),
                    cost: 1 + size / Self.costUnit, from: sender)
            else { throw tooManyCalls(of: sender) }
        } catch {
            respond(to: message, .failure(error), nil)
        }
    }

    /// Handles a reply in the order in which its program has sent it.
    func replyArrived(_ message: Message) {
        guard pending[message.replySerial] != nil else { return }
        if !waitingCalls.isEmpty, waitingCalls.isWaiting(message.sender) {
            waitingCalls.append(.reply(message), cost: 1, from: message.sender)
        } else {
            replyReceived(message)
        }
    }

    /// Starts the next calls; the following turns start the others.
    func runTurn() {
        guard !isTurnScheduled, !waitingCalls.isEmpty else { return }
        let now = ControlLoop.now
        if spanBegin.duration(to: now) >= Self.span {
            spanBegin = now
            silentCalls = [:]
        }
        let turn = waitingCalls.takeTurn(Self.callsPerTurn, perSender: Self.callsPerSenderAndTurn) { sender, waiting in
            mayStart(waiting, of: sender)
        }
        for waiting in turn {
            switch waiting {
            case .call(let call, let method, let message): begin(method, call, message)
            case .reply(let message): replyReceived(message)
            }
        }
        guard !waitingCalls.isEmpty else { return }
        // With only calls that must wait for the next span, calls of other programs are still handled as they arrive.
        guard !turn.isEmpty else { return waitForNextSpan() }
        isTurnScheduled = true
        loop.perform {
            self.isTurnScheduled = false
            self.runTurn()
        }
    }

    private func mayStart(_ waiting: WaitingMessage, of sender: String) -> Bool {
        guard case .call(_, _, let message) = waiting, !message.expectsReply else { return true }
        guard silentCalls[sender, default: 0] < Self.silentCallsPerSpan else { return false }
        silentCalls[sender, default: 0] += 1
        return true
    }

    private func waitForNextSpan() {
        guard spanTimer == nil else { return }
        spanTimer = loop.schedule(after: Self.span) {
            self.spanTimer = nil
            self.runTurn()
        }
    }

    private func tooManyCalls(of sender: String) -> BusError {
        note("\(sender) sends calls faster than they are handled")
        return .limitsExceeded(
            "too many of your calls wait already; accepted: at most \(Self.waitingLimits.perSender): wait for replies")
    }

    /// Logs refused or dropped calls, at most every 10 s.
    private func note(_ what: String) {
        let now = ControlLoop.now
        if let last = lastRefusalNote, last.duration(to: now) < .seconds(10) { return }
        lastRefusalNote = now
        log.warning("\(what): its calls are refused, and those without a reply dropped")
    }

    // MARK: Handling them

    private func find(_ message: Message) throws(BusError) -> (String, ExportedInterface.Method) {
        let (path, member) = (message.path, message.member)
        guard path.utf8.count <= Self.longestPath else {
            throw .unknownObject("there is no object at a path of \(path.utf8.count) bytes")
        }
        // A peer answers at any path.
        guard message.interface == Self.peerName || tree.isKnown(path) else {
            throw .unknownObject("there is no object \(path)")
        }
        let interfaces = interfaces(at: path)
        guard let name = message.interface else {
            for interface in interfaces {
                if let method = interface.method(member) { return (interface.name, method) }
            }
            throw .unknownMethod("\(path) has no method \(member)")
        }
        guard let interface = interfaces.first(where: { $0.name == name }) else {
            throw BusError(name: BusError.Name.unknownInterface, message: "\(path) has no interface \(name)")
        }
        guard let method = interface.method(member) else { throw .unknownMethod("\(name) has no method \(member)") }
        return (name, method)
    }

    /// The object's own interfaces in the order of their names, then the standard ones.
    func interfaces(at path: String) -> [ExportedInterface] {
        let own = (tree.objects[path] ?? [:]).values.sorted { $0.name < $1.name }
        let manager = tree.managers[path] != nil ? [manager].compactMap { $0 } : []
        return own + manager + standard
    }

    /// Descriptors that no method takes are closed with the message, at once.
    private func check(
        _ message: Message, _ interface: String, _ method: ExportedInterface.Method
    ) throws(BusError) {
        guard message.signature == method.inSignature else {
            throw .invalidArguments(
                "\(interface).\(method.name): expected '\(method.inSignature)', got '\(message.signature)'")
        }
        guard !message.hasDescriptors || method.takesDescriptors else {
            throw .invalidArguments("\(interface).\(method.name) takes no descriptors")
        }
    }

    private func call(
        _ message: Message, _ interface: String, _ method: ExportedInterface.Method, _ arguments: [Value]
    ) -> MethodCall {
        MethodCall(
            sender: message.sender, path: message.path, interface: interface, member: method.name, arguments: arguments)
    }

    /// Runs a handler, unless its caller keeps too many busy. Calls without a reply are counted separately.
    private func begin(_ method: ExportedInterface.Method, _ call: MethodCall, _ message: Message) {
        let sender = call.sender
        let count: WritableKeyPath<RunningHandlers, Int> = message.expectsReply ? \.waiting : \.silent
        guard handlers[sender, default: RunningHandlers()][keyPath: count] < Self.handlersPerSender else {
            note("\(sender) has \(Self.handlersPerSender) calls under way")
            let error = BusError.limitsExceeded(
                "\(Self.handlersPerSender) of your calls wait for their replies, which is the most: wait for one")
            return respond(to: message, .failure(error), nil)
        }
        handlers[sender, default: RunningHandlers()][keyPath: count] += 1
        run(method, call, message) {
            self.handlers[sender, default: RunningHandlers()][keyPath: count] -= 1
            if self.handlers[sender]?.isIdle == true { self.handlers[sender] = nil }
        }
    }

    /// - Parameter finished: called when the handler has ended, unless the connection has.
    private func run(
        _ method: ExportedInterface.Method, _ call: MethodCall, _ message: Message,
        _ finished: @escaping @ControlPlane () -> Void
    ) {
        let generation = generation
        Task { @ControlPlane in
            let result: Result<[Value], BusError>
            var made: Message?
            do throws(BusError) {
                if call.interface == Self.managerName {
                    made = try await managedObjects(for: call, message)
                    result = .success([])
                } else {
                    result = .success(try await method.handler(call))
                }
            } catch {
                result = .failure(error)
            }
            // The caller of an earlier connection has gone with it.
            guard self.generation == generation else { return }
            finished()
            if let made { send(made, to: message) } else { respond(to: message, result, method) }
        }
    }

    // MARK: Answering

    private func respond(
        to message: Message, _ result: Result<[Value], BusError>, _ method: ExportedInterface.Method?
    ) {
        guard message.expectsReply, isConnected else { return }
        do {
            send(try reply(to: message, result, method), to: message)
        } catch {
            log.error("the reply to \(message.interface ?? "").\(message.member) was not made: \(error)")
        }
    }

    private func send(_ reply: Message, to message: Message) {
        guard message.expectsReply, isConnected else { return }
        do {
            _ = try transmit(reply)
        } catch {
            log.error("the reply to \(message.interface ?? "").\(message.member) was not sent: \(error)")
        }
    }

    /// Fails only for lack of memory: a handler's wrong result becomes the error `Fault`.
    private func reply(
        to message: Message, _ result: Result<[Value], BusError>, _ method: ExportedInterface.Method?
    ) throws(BusError) -> Message {
        let fault: String
        do throws(BusError) {
            switch result {
            case .success(let values):
                return try message.reply(values, as: try Signature(method?.outSignature ?? ""))
            case .failure(let error):
                return try message.reply(error)
            }
        } catch {
            fault = "\(message.interface ?? "").\(message.member) gave a wrong answer: \(error)"
        }
        log.error("\(fault)")
        return try message.reply(.fault(fault))
    }
}
