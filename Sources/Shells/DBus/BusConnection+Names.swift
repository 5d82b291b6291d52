internal import CDBus
internal import ControlLoop
internal import Logging

extension BusConnection {
    /// Becomes the owner of a bus name, without waiting in a queue and without being replaceable. Requests it again after a
    /// restart of the bus.
    ///
    /// - Throws: `BusError.nameTaken`, which names the owner and its process; `AccessDenied` when the bus has no policy that
    ///   allows it.
    package func requestName(_ name: String) async throws(BusError) {
        for _ in 0..<Self.nameAttempts {
            let code = try await callBus("RequestName", [.string(name), .uint32(UInt32(DBUS_NAME_FLAG_DO_NOT_QUEUE))])
                .first?.uint32Value
            switch code.map(Int32.init(bitPattern:)) {
            case DBUS_REQUEST_NAME_REPLY_PRIMARY_OWNER, DBUS_REQUEST_NAME_REPLY_ALREADY_OWNER:
                if !requestedNames.contains(name) { requestedNames.append(name) }
                return
            default:
                if let error = await nameTakenError(name) { throw error }
            }
        }
        throw .nameTaken("\(name) changes hands faster than its owner can be named")
    }

    /// The owner of a taken name may leave before it is queried: the name is free then.
    private static var nameAttempts: Int { 3 }

    /// Releases a name. Does nothing if it is not ours.
    package func releaseName(_ name: String) {
        requestedNames.removeAll { $0 == name }
        nameTimers.removeValue(forKey: name)?.cancel()
        if isConnected { post(Self.busName, Self.busPath, Self.busName, "ReleaseName", [.string(name)]) }
    }

    /// The unique name of the owner of a name.
    ///
    /// - Throws: `NameHasNoOwner`.
    package func owner(of name: String) async throws(BusError) -> String {
        guard let owner = try await callBus("GetNameOwner", [.string(name)]).first?.stringValue else {
            throw .failed("the bus gave no owner of \(name)")
        }
        return owner
    }

    /// Asks the bus whether it is alive. A bus that shuts down reports the programs that it disconnects before us, so a
    /// departure reported by a bus that no longer answers need not be real.
    package func isBusThere() async -> Bool {
        do throws(BusError) {
            _ = try await owner(of: Self.busName)
            return true
        } catch {
            return !error.hasName(BusError.Name.disconnected)
        }
    }

    package func processID(of busName: String) async throws(BusError) -> UInt32 {
        guard let process = try await callBus("GetConnectionUnixProcessID", [.string(busName)]).first?.uint32Value
        else { throw .failed("the bus gave no process of \(busName)") }
        return process
    }

    package func userID(of busName: String) async throws(BusError) -> UInt32 {
        guard let user = try await callBus("GetConnectionUnixUser", [.string(busName)]).first?.uint32Value else {
            throw .failed("the bus gave no user of \(busName)")
        }
        return user
    }

    private func callBus(_ member: String, _ arguments: [Value]) async throws(BusError) -> [Value] {
        try await call(Self.busName, Self.busPath, Self.busName, member, arguments)
    }

    /// - Returns: nil when the owner has left in the meantime.
    private func nameTakenError(_ name: String) async -> BusError? {
        do throws(BusError) {
            let owner = try await owner(of: name)
            let process = try await processID(of: owner)
            return .nameTaken("\(name) is owned by \(owner) (process \(process))")
        } catch {
            if error.hasName(BusError.Name.nameHasNoOwner) { return nil }
            return .nameTaken("\(name) is owned by another process, which cannot be named: \(error)")
        }
    }

    /// Requests a name after a restart of the bus; retries every second if another process was faster.
    func requestAgain(_ name: String) {
        nameTimers.removeValue(forKey: name)?.cancel()
        let generation = generation
        Task { @ControlPlane in
            do throws(BusError) {
                try await requestName(name)
            } catch {
                guard self.generation == generation, isConnected, requestedNames.contains(name) else { return }
                log.error("the bus name \(name) is not ours any more: \(error)")
                nameTimers[name] = loop.schedule(after: .seconds(1)) { self.requestAgain(name) }
            }
        }
    }
}
