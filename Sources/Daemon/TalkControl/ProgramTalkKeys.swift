package import BTCallAPI
package import ControlLoop
package import DBus
package import Talk

/// The talk keys of programs on the bus (`Calls1.SetTalk`): one of each program's own, and named ones that outlive it.
@ControlPlane
package final class ProgramTalkKeys {
    private static let most = 32

    private let bus: BusConnection
    private let keys: TalkKeys
    /// The programs with a key of their own.
    private var programs: [String: Subscription] = [:]
    private var named: Set<String> = []

    package init(bus: BusConnection, keys: TalkKeys) {
        self.bus = bus
        self.keys = keys
        keys.events.subscribe(self) { programs, event in
            // Nobody may come to release it.
            if event.1 == .stuck, programs.named.contains(event.0.name), event.0.kind == .application {
                programs.release(event.0)
            }
        }
    }

    /// - Parameter name: of a named key; nil: the program's own.
    package func key(named name: String?, of busName: String) -> TalkKeyID {
        TalkKeyID(.application, name ?? busName)
    }

    /// - Throws: `limitExceeded` when too many keys are pressed, or this one too often.
    package func press(_ key: TalkKeyID, isNamed: Bool) throws(APIError) {
        if !keys.has(key) {
            guard programs.count + named.count < Self.most else {
                throw APIError(
                    .limitExceeded, "programs have \(Self.most) talk keys already: release one of them first")
            }
            if isNamed { named.insert(key.name) } else { watch(key) }
            keys.add(key)
        }
        keys.signal(.pressed, from: key)
        guard keys.isResting(key) else { return }
        throw APIError(.limitExceeded, "\(key) was pressed too often: it is ignored for \(TalkKey.rest)")
    }

    package func release(_ key: TalkKeyID) {
        keys.signal(.released, from: key)
        // A key that was pressed too often stays, so that it is not forgiven.
        guard named.contains(key.name), !keys.isResting(key) else { return }
        named.remove(key.name)
        keys.remove(key)
    }

    private func watch(_ key: TalkKeyID) {
        programs[key.name] = bus.watchName(key.name) { [weak self] owner in
            guard owner == nil, let self, let watch = programs.removeValue(forKey: key.name) else { return }
            watch.cancel()
            keys.remove(key)
        }
    }
}
