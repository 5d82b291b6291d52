internal import CDBus
internal import ControlLoop
internal import Logging

extension BusConnection {
    /// Calls that may wait for their handlers' answers at once; more are refused.
    private static let maximumRunningHandlers = 1024

    /// Offers interfaces at a path, in addition to those that are there; one of the same name is replaced.
    ///
    /// A path or description that cannot be is our mistake: it is logged and left out.
    package func export(_ interfaces: [ExportedInterface], at path: String) {
        guard NameRule.objectPath.isValid(path) else { return log.error("cannot export at '\(path)'") }
        var added: [ExportedInterface] = []
        for interface in interfaces {
            if let mistake = interface.mistake {
                log.error("cannot export \(interface.name) at \(path): \(mistake)")
            } else {
                tree.add(interface, at: path)
                added.append(interface)
            }
        }
        guard !added.isEmpty else { return }
        for root in tree.managers(above: path) {
            emit(
                path: root, interface: Self.managerName, member: "InterfacesAdded",
                [.objectPath(path), description(of: added)])
        }
    }

    package func unexport(path: String) {
        remove((tree.objects[path] ?? [:]).keys.sorted(), at: path)
    }

    package func unexport(path: String, interface: String) {
        remove([interface], at: path)
    }

    /// Makes the path answer `GetManagedObjects` for the objects below it, and signal when they come and go.
    package func exportObjectManager(at path: String) {
        guard NameRule.objectPath.isValid(path) else { return log.error("cannot export at '\(path)'") }
        tree.addManager(at: path)
    }

    /// Signals the present values of properties. Those that are declared `.invalidated` are named without a value.
    package func propertiesChanged(path: String, interface name: String, _ names: [String]) {
        guard let interface = tree.objects[path]?[name] else { return }
        var values: [String: Value] = [:]
        var invalidated: [String] = []
        for name in names {
            guard let property = interface.property(name) else {
                log.error("\(interface.name) has no property \(name)")
                continue
            }
            switch property.changes {
            case .signalled: values[name] = value(of: property, interface.name)
            case .invalidated: invalidated.append(name)
            case .constant, .silent: log.error("\(interface.name).\(name) is declared not to signal changes")
            }
        }
        guard !values.isEmpty || !invalidated.isEmpty else { return }
        emit(
            path: path, interface: Self.propertiesName, member: "PropertiesChanged",
            [.string(name), .vardict(values), .strings(invalidated)])
    }

    private func remove(_ names: [String], at path: String) {
        let removed = names.filter { tree.remove($0, at: path) }
        guard !removed.isEmpty else { return }
        for root in tree.managers(above: path) {
            emit(
                path: root, interface: Self.managerName, member: "InterfacesRemoved",
                [.objectPath(path), .strings(removed)])
        }
    }

    // MARK: Calls from others

    func callReceived(_ message: Message) {
        do throws(BusError) {
            let (interface, method) = try find(message)
            guard message.signature == method.inSignature else {
                throw .invalidArguments(
                    "\(interface).\(method.name): expected '\(method.inSignature)', got '\(message.signature)'")
            }
            guard runningHandlers < Self.maximumRunningHandlers else {
                throw .limitsExceeded("\(runningHandlers) calls are waiting already")
            }
            let call = MethodCall(
                sender: message.sender, path: message.path, interface: interface, member: method.name,
                arguments: try message.arguments())
            run(method, call, message)
        } catch {
            respond(to: message, .failure(error), nil)
        }
    }

    private func find(_ message: Message) throws(BusError) -> (String, ExportedInterface.Method) {
        let (path, member) = (message.path, message.member)
        guard tree.isKnown(path) else { throw .unknownObject("there is no object \(path)") }
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
        let manager = tree.managers.contains(path) ? [manager].compactMap { $0 } : []
        return own + manager + standard
    }

    private func run(_ method: ExportedInterface.Method, _ call: MethodCall, _ message: Message) {
        runningHandlers += 1
        let generation = generation
        Task { @ControlPlane in
            let result: Result<[Value], BusError>
            do throws(BusError) {
                result = .success(try await method.handler(call))
            } catch {
                result = .failure(error)
            }
            runningHandlers -= 1
            // The caller of an earlier connection has gone with it.
            guard self.generation == generation else { return }
            respond(to: message, result, method)
        }
    }

    private func respond(
        to message: Message, _ result: Result<[Value], BusError>, _ method: ExportedInterface.Method?
    ) {
        guard message.expectsReply, isConnected else { return }
        do {
            _ = try transmit(try reply(to: message, result, method))
        } catch {
            log.error("the reply to \(message.interface ?? "").\(message.member) was not sent: \(error)")
        }
    }

    /// Never fails but for want of memory: what the handler did wrong becomes the error `Fault`.
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

    /// A property's value; nil, and a log line, if it has another type than declared.
    func value(of property: ExportedInterface.Property, _ interface: String) -> Value? {
        let value = property.get()
        do {
            try Value.check([value], against: try Signature(property.signature))
            return value
        } catch {
            log.error("\(interface).\(property.name) has a wrong value: \(error)")
            return nil
        }
    }

    /// An `a{sa{sv}}` of interfaces and their properties.
    func description(of interfaces: [ExportedInterface]) -> Value {
        .dictionary(
            "s", "a{sv}",
            interfaces.map { interface in
                var values: [String: Value] = [:]
                for property in interface.properties { values[property.name] = value(of: property, interface.name) }
                return DictionaryEntry(.string(interface.name), .vardict(values))
            })
    }
}
