package import BTCallAPI
package import ControlLoop
package import DBus
package import Routing

/// Who has the audio hardware instead of the calls: programs that hold an interruption, and the board going to sleep.
///
/// The policy knows one interruption: it begins with the first of these and ends with the last. The audio comes back by
/// itself only if every one that ended in between wanted that: one "do not resume" among several means that somebody does
/// not expect the room to be heard again.
@ControlPlane
package final class Interruptions {
    private struct Claim {
        let source: String
        let resumes: Bool
    }

    /// The word of the board's own sleep.
    package static let suspend = "suspend"
    /// The word of a device that another program has, when there is no other one for the call.
    package static let deviceBusy = "device busy"

    /// `.interruptionBegan` and `.interruptionEnded`.
    package let events = Signal<RoutingEvent>()
    /// The sources are others than before.
    package let changes = Signal<Void>()
    private let holders = HolderList<Claim>()
    /// Those without a descriptor.
    private var own: [String] = []
    private var resumes = true

    package init() {
        holders.onReleased = { [weak self] holder in self?.ended(resumes: holder.claim.resumes) }
    }

    /// The sources in force, in order of beginning, each once.
    package var sources: [String] {
        var sources: [String] = []
        for source in own + holders.holders.map(\.claim.source) where !sources.contains(source) {
            sources.append(source)
        }
        return sources
    }

    /// Begins an interruption that ends with the descriptor.
    ///
    /// - Parameters:
    ///   - source: a word for people and logs, 1 to 64 printable bytes.
    ///   - resumes: whether calls get the audio back at its end.
    ///   - busName: of the program that asks.
    /// - Throws: `invalidArgument` for another source; what `HolderList` throws.
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

    /// Begins one of the daemon's own. It is no second one while it lasts.
    package func begin(_ source: String) {
        guard !own.contains(source) else { return }
        own.append(source)
        began(source)
    }

    /// Ends one of the daemon's own, if it lasts.
    package func end(_ source: String) {
        guard let index = own.firstIndex(of: source) else { return }
        own.remove(at: index)
        ended(resumes: true)
    }

    /// The daemon stops: nothing is told to anybody.
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
