/// Severity of a finding, worst first.
enum DoctorSeverity: String, Comparable, CaseIterable, Sendable {
    /// Calls on headsets do not work, or a device cannot be used.
    case fault
    /// It works, but not well or not always.
    case warning
    /// Worth knowing; nothing is wrong.
    case note

    static func < (left: DoctorSeverity, right: DoctorSeverity) -> Bool { left.rank < right.rank }

    private var rank: Int {
        switch self {
        case .fault: 0
        case .warning: 1
        case .note: 2
        }
    }
}

/// One check of the machine: the possible fault, how to detect it, and the remedy.
struct DoctorCheck: Sendable {
    /// Result of one check.
    enum Outcome: Equatable, Sendable {
        case ok
        /// The check could not be made, for this reason.
        case skipped(String)
        case found([DoctorEvidence])
    }

    /// Kebab-case and permanent: scripts use it.
    let id: String
    /// Worst severity of its findings.
    let severity: DoctorSeverity
    /// Description of the fault, for the page of all checks.
    let finds: String
    /// Remedy, unless the evidence has a better one.
    let remedy: String
    /// A command that does it or shows more; nil without one.
    let command: String?
    let examine: @Sendable (DoctorSystem) -> Outcome

    init(
        _ id: String, _ severity: DoctorSeverity, finds: String, remedy: String, command: String? = nil,
        examine: @escaping @Sendable (DoctorSystem) -> Outcome
    ) {
        self.id = id
        self.severity = severity
        self.finds = finds
        self.remedy = remedy
        self.command = command
        self.examine = examine
    }

    /// The findings of an outcome.
    func findings(in outcome: Outcome) -> [DoctorFinding] {
        guard case .found(let evidence) = outcome else { return [] }
        return evidence.map {
            DoctorFinding(
                check: id, severity: $0.severity ?? severity, what: $0.what, seen: $0.seen,
                remedy: $0.remedy ?? remedy, command: $0.command ?? command)
        }
    }

    /// Names that checks had earlier, with the present ones: accepted as arguments.
    static let formerNames = ["bluetoothd-version": "stack", "kernel-version": "stack"]

    /// All checks, in the order in which a person would make them.
    static let all = [
        adapterChecks, controllerChecks, bluetoothdChecks, stackChecks, kernelChecks, daemonChecks, containerChecks,
        systemChecks, soundChecks, headsetChecks, routingChecks, videoChecks,
    ].flatMap { $0 }
}

/// A fault that a check has detected.
struct DoctorEvidence: Equatable, Sendable {
    /// One sentence without a full stop.
    var what: String
    /// Where it is visible: a file and its content, a property, a process.
    var seen: String
    /// Nil for the check's own severity.
    var severity: DoctorSeverity?
    var remedy: String?
    var command: String?

    init(
        _ what: String, seen: String, severity: DoctorSeverity? = nil, remedy: String? = nil, command: String? = nil
    ) {
        self.what = what
        self.seen = seen
        self.severity = severity
        self.remedy = remedy
        self.command = command
    }
}

/// A finding for the person.
struct DoctorFinding: Equatable, Sendable {
    let check: String
    let severity: DoctorSeverity
    let what: String
    let seen: String
    let remedy: String
    let command: String?
}

extension DoctorCheck.Outcome {
    /// `.ok` without evidence.
    init(_ evidence: [DoctorEvidence]) {
        self = evidence.isEmpty ? .ok : .found(evidence)
    }
}
