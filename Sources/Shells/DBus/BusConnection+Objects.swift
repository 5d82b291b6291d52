internal import CDBus
internal import ControlLoop
internal import Logging

extension BusConnection {
    /// Adds interfaces to the object at a path; one of the same name is replaced.
    ///
    /// An invalid path or description is our mistake: it is logged and left out.
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
        forgetAnswers()
        for root in tree.managers(above: path, of: added.map(\.name)) {
            emit(
                path: root, interface: Self.managerName, member: "InterfacesAdded",
                [.objectPath(path), description(of: added, isFull: readers == nil)])
        }
    }

    package func unexport(path: String) {
        remove((tree.objects[path] ?? [:]).keys.sorted(), at: path)
    }

    package func unexport(path: String, interface: String) {
        remove([interface], at: path)
    }

    /// Makes the path answer `GetManagedObjects` for the objects below it, and signal when they come and go.
    ///
    /// - Parameters:
    ///   - prefix: start of the names of interfaces that make an object one of these; objects for other programs are left
    ///     out. Empty: all objects.
    ///   - answerAge: how long an answer is reused while no change is signalled; properties without a signal may be that old
    ///     in it. Zero builds each answer from scratch.
    package func exportObjectManager(at path: String, of prefix: String = "", answerAge: Duration = .zero) {
        guard NameRule.objectPath.isValid(path) else { return log.error("cannot export at '\(path)'") }
        tree.addManager(at: path, of: prefix)
        answerAges[path] = answerAge
        forgetAnswers()
    }

    /// Signals the present values of properties. Properties declared `.invalidated` are named without a value, and so are
    /// confidential ones if readers are restricted: a signal goes to everybody.
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
            case .signalled where property.isConfidential && readers != nil: invalidated.append(name)
            case .signalled: values[name] = value(of: property, interface.name)
            case .invalidated: invalidated.append(name)
            case .constant, .silent: log.error("\(interface.name).\(name) is declared not to signal changes")
            }
        }
        forgetAnswers()
        guard !values.isEmpty || !invalidated.isEmpty else { return }
        emit(
            path: path, interface: Self.propertiesName, member: "PropertiesChanged",
            [.string(name), .vardict(values), .strings(invalidated)])
    }

    private func remove(_ names: [String], at path: String) {
        let removed = names.filter { tree.remove($0, at: path) }
        guard !removed.isEmpty else { return }
        forgetAnswers()
        for root in tree.managers(above: path, of: removed) {
            emit(
                path: root, interface: Self.managerName, member: "InterfacesRemoved",
                [.objectPath(path), .strings(removed)])
        }
    }

    /// A property's value; nil, with a log line, if it has another type than declared.
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
    ///
    /// - Parameter isFull: includes confidential properties.
    func description(of interfaces: [ExportedInterface], isFull: Bool) -> Value {
        .dictionary(
            "s", "a{sv}",
            interfaces.map { interface in
                var values: [String: Value] = [:]
                for property in interface.properties where isFull || !property.isConfidential {
                    values[property.name] = value(of: property, interface.name)
                }
                return DictionaryEntry(.string(interface.name), .vardict(values))
            })
    }
}
