package import Configuration
package import ControlLoop
package import Diagnostics
package import Logging
package import Routing

/// Reports what is plugged into the wired headset's socket, before debouncing; checks again for parts that were not found.
@ControlPlane
package final class JackMonitor {
    /// Called after each change with an edge for the policy.
    package var onEdge: (@ControlPlane (RoutingEvent) -> Void)?
    package private(set) var state = JackState.empty
    /// Whether the jack shows if the headset is plugged in; otherwise its sound card's presence does.
    package var isManaged: Bool {
        switch specification {
        case .parts: true
        case .cardAlone: false
        case nil: !contacts.isEmpty
        }
    }
    /// Whether a part that the configuration names is not watched now.
    package private(set) var isIncomplete = false

    private let specification: JackSpecification?
    private let pcm: String
    private let hasCapture: Bool
    private let source: any BoardOpening
    private let problems: ProblemList
    private let logger: Logger
    private var contacts: [JackPart: BoardContact<JackReading>] = [:]
    private static let problem = "jack.wiredHeadset"

    /// - Parameters:
    ///   - specification: nil finds the jack by its usual names.
    ///   - pcm: of the wired headset.
    ///   - hasCapture: whether the headset is assumed to have a microphone if no reading says.
    package init(
        specification: JackSpecification?, pcm: String, hasCapture: Bool, source: any BoardOpening,
        problems: ProblemList, logger: Logger
    ) {
        self.specification = specification
        self.pcm = pcm
        self.hasCapture = hasCapture
        self.source = source
        self.problems = problems
        self.logger = logger
    }

    /// The areas in which the jack comes and goes.
    package var areas: Set<BoardArea> {
        switch specification {
        case .cardAlone: []
        case nil: [.cards, .inputs]
        case .parts(let parts):
            Set(
                parts.map { part in
                    switch part {
                    case .control: .cards
                    case .input: .inputs
                    }
                })
        }
    }

    /// Opens the parts that are not open yet.
    package func look() {
        switch specification {
        case .cardAlone: return
        case nil: if contacts.isEmpty { lookForUsual() }
        case .parts(let parts): lookForNamed(parts)
        }
        update()
    }

    /// Reads the hardware again, even without a notification.
    package func refresh() {
        look()
        for contact in contacts.values { contact.refresh() }
        update()
    }

    package func stop() {
        for contact in contacts.values { contact.close() }
        contacts = [:]
    }

    private func lookForUsual() {
        for part in source.findJack(ofPCM: pcm) {
            do throws(BoardError) {
                adopt(try source.openJack(part, pcm: pcm), part)
            } catch {
                logger.info("the jack \(part) is not used: \(error.what); \(error.remedy)")
            }
        }
    }

    private func lookForNamed(_ parts: [JackPart]) {
        var failure: (part: JackPart, error: BoardError)?
        for part in parts where contacts[part] == nil {
            do throws(BoardError) {
                adopt(try source.openJack(part, pcm: pcm), part)
            } catch {
                if failure == nil { failure = (part, error) }
            }
        }
        isIncomplete = failure != nil
        if let failure, !failure.error.isCardMissing {
            problems.begin(
                Self.problem, what: "wiredHeadset: the jack \(failure.part) is not watched: \(failure.error.what)",
                remedy: failure.error.remedy)
        } else {
            problems.end(Self.problem)
        }
    }

    private func adopt(_ contact: BoardContact<JackReading>, _ part: JackPart) {
        contacts[part] = contact
        contact.onChange = { [weak self] in self?.update() }
        contact.onGone = { [weak self] in self?.lose(part) }
        logger.info("the jack of wiredHeadset is watched by \(part)")
    }

    private func lose(_ part: JackPart) {
        contacts[part] = nil
        logger.notice("the jack \(part) of wiredHeadset has gone")
        update()
        // Either the card has gone or only the jack: the next check shows which.
        ControlLoop.shared.perform { [weak self] in self?.look() }
    }

    private func update() {
        let now = Self.state(of: contacts.values.map(\.state), hasCapture: hasCapture)
        guard now != state else { return }
        state = now
        logger.debug("the jack of wiredHeadset: \(now.rawValue)")
        onEdge?(Self.edge(now))
    }

    package nonisolated static func edge(_ state: JackState) -> RoutingEvent {
        switch state {
        case .empty: .jackUnplugged
        case .headset: .jackPlugged(microphone: true)
        case .headphones: .jackPlugged(microphone: false)
        }
    }

    /// - Parameter hasCapture: assumed presence of the microphone if no reading says.
    package nonisolated static func state(of readings: [JackReading], hasCapture: Bool) -> JackState {
        let outputs = readings.compactMap(\.isPlugged)
        let microphones = readings.compactMap(\.hasMicrophone)
        let isPlugged = (outputs.isEmpty ? microphones : outputs).contains(true)
        guard isPlugged else { return .empty }
        let hasMicrophone = microphones.isEmpty ? hasCapture : microphones.contains(true)
        return hasMicrophone ? .headset : .headphones
    }
}
