import BTCallAPI
import ControlLoop
import DBus
import Glibc

// A test that threw has freed the daemon, and its clients may still have requests on their way: each gets an error.
extension FakeDaemon {
    /// A method without a result, whose calls are kept in ``requests``.
    func method(
        _ name: String, in arguments: [(name: String, signature: String)] = [],
        _ body: @escaping @ControlPlane (FakeDaemon, MethodCall) throws(BusError) -> Void
    ) -> ExportedInterface.Method {
        answering(name, in: arguments) { daemon, call throws(BusError) in
            daemon.note(([name] + call.arguments.compactMap(\.stringValue)).joined(separator: " "))
            try body(daemon, call)
            return []
        }
    }

    /// A method with a result.
    func answering(
        _ name: String, in arguments: [(name: String, signature: String)] = [],
        out results: [(name: String, signature: String)] = [],
        _ answer: @escaping @ControlPlane (FakeDaemon, MethodCall) throws(BusError) -> [Value]
    ) -> ExportedInterface.Method {
        .init(name, in: arguments, out: results) { [weak self] call throws(BusError) in
            guard let self else { throw .failed("the test has ended") }
            return try answer(self, call)
        }
    }

    func property(
        _ name: String, _ signature: String, get: @escaping @ControlPlane (FakeDaemon) -> Value
    ) -> ExportedInterface.Property {
        .init(name, signature, get: { [weak self] in Self.value(of: self, get) })
    }

    /// A property that clients may set.
    func property(
        _ name: String, _ signature: String, get: @escaping @ControlPlane (FakeDaemon) -> Value,
        set: @escaping @ControlPlane (FakeDaemon, Value) throws(BusError) -> Void
    ) -> ExportedInterface.Property {
        .init(
            name, signature, get: { [weak self] in Self.value(of: self, get) },
            set: { [weak self] value throws(BusError) in
                guard let self else { throw .failed("the test has ended") }
                try set(self, value)
            })
    }

    private static func value(of daemon: FakeDaemon?, _ get: @ControlPlane (FakeDaemon) -> Value) -> Value {
        guard let daemon else { return "" }
        return get(daemon)
    }

    /// A method that returns a descriptor, and records how long it is held.
    func holding(_ name: String, in arguments: [(name: String, signature: String)]) -> ExportedInterface.Method {
        answering(name, in: arguments, out: [("handle", "h")]) { daemon, call throws(BusError) in
            let words = [name] + call.arguments.compactMap(\.stringValue)
            let resume = call.arguments.last?["resume"]?.boolValue == false ? ["no-resume"] : []
            daemon.note((words + resume).joined(separator: " "))
            if name == "AcquireSelection", !daemon.router.isStarted {
                throw APIError(.notStarted, "the router is stopped: `btcall daemon routing on` starts it").busError
            }
            var ends: [Int32] = [-1, -1]
            guard pipe(&ends) == 0 else { throw .failed("no pipe") }
            for end in ends { _ = fcntl(end, F_SETFD, FD_CLOEXEC) }
            let ours = ends[0]
            do throws(SystemError) {
                let source = try ControlLoop.shared.add(ours, .readable) { [weak daemon] _ in
                    daemon?.released(name, ours)
                }
                daemon.held.append((name, source))
            } catch {
                throw .failed("\(error)")
            }
            return [.unixDescriptor(PassedDescriptor(taking: ends[1]))]
        }
    }

    private func released(_ name: String, _ descriptor: Int32) {
        guard let index = held.firstIndex(where: { $0.source.descriptor == descriptor }) else { return }
        forget(held.remove(at: index).source)
        note("\(name) released")
    }

    func forget(_ source: DescriptorSource) {
        source.cancel()
        Glibc.close(source.descriptor)
    }
}
