package import BTCallAPI
package import ControlLoop
package import DBus
package import Routing

/// The interruptions that take the audio hardware from the calls: programs that hold one, and the board going to sleep.
///
/// The policy knows one interruption: it begins with the first of these and ends with the last. The audio comes back
/// automatically only if each of them asked for that: a single "do not resume" means that somebody does not expect the room
/// to be heard again.
@ControlPlane
package final class Interruptions {
    private struct Claim {
        let source: String
        let resumes: Bool
    }

    /// Source name of the board's own sleep.
    package static let suspend = "suspend"
    /// Source name for a device that another program uses, when no other device is available for the call.
    package static let deviceBusy = "device busy"

    /// `.interruptionBegan` and `.interruptionEnded`.
    package let events = Signal<RoutingEvent>()
    /// The sources have changed.
    package let changes = Signal<Void>()
    private let holders = LeaseList<Claim>()
    /// Interruptions of btcalld itself, without a descriptor.
    private var own: [String] = []
    private var resumes = true

    package init() {
        holders.onReleased = { [weak self] holder in self?.ended(resumes: holder.claim.resumes) }
    }

    /// The current sources, in order of beginning, each once.
    package var sources: [String] {
        var sources: [String] = []
        for source in own + holders.holders.map(\.claim.source) where !sources.contains(source) {
            sources.append(source)
        }
        return sources
    }

    /// Begins an interruption that lasts until the descriptor is closed.
    ///
    /// - Parameters:
    ///   - source: a name for people and logs, 1 to 64 printable bytes.
    ///   - resumes: whether calls get the audio back when it ends.
    ///   - busName: bus name of the program that interrupts.
    /// - Throws: `invalidArgument` for an invalid source; the errors of `LeaseList`.
    package func begin(_ source: String, resumes: Bool, of busName: String) throws(APIError) -> PassedDescriptor {
        guard (1...64).contains(source.utf8.count), source.utf8.allSatisfy({ $0 >= 0x20 && $0 != 0x7F }) else {
            throw APIError(.invalidArgument, "source has to be a word of 1 to 64 bytes without control characters")
        }
        guard source != Self.suspend, source != Self.deviceBusy else {
            throw APIError(.invalidArgument, "the source \"\(source)\" is btcalld's own word: use another")
        }
        let descriptor = try holders.add(Claim(source: source, resumes: resumes), of: busName)
        began(source)
        return descriptor
    }

    /// Begins one of btcalld's own interruptions; does nothing while it lasts.
    package func begin(_ source: String) {
        guard !own.contains(source) else { return }
        own.append(source)
        began(source)
    }

    /// Ends one of btcalld's own interruptions, if it lasts.
    package func end(_ source: String) {
        guard let index = own.firstIndex(of: source) else { return }
        own.remove(at: index)
        ended(resumes: true)
    }

    /// Ends all without notifying anyone, when the daemon stops.
    package func close() { holders.removeAll() }

    private var count: Int { own.count + holders.holders.count }

    private func began(_ source: String) {
        if count == 1 {
            resumes = true
            events.send(.interruptionBegan(source: source))
        }
        changes.send()
    }

    private func ended(resumes wanted: Bool) {
        resumes = resumes && wanted
        if count == 0 { events.send(.interruptionEnded(resume: resumes)) }
        changes.send()
    }
}
