/// How bad something is, worst first.
enum DoctorSeverity: String, Comparable, CaseIterable, Sendable {
    /// Calls on headsets do not work, or some device cannot be used.
    case fault
    /// Works, and not well or not always.
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

/// One look at the machine: what can be wrong, how it is seen, and what to do about it.
struct DoctorCheck: Sendable {
    /// What one look came to.
    enum Outcome: Equatable, Sendable {
        case ok
        /// There was nothing to look at; why.
        case skipped(String)
        case found([DoctorEvidence])
    }

    /// Kebab-case, and for good: scripts name it.
    let id: String
    /// How bad what it finds is at worst.
    let severity: DoctorSeverity
    /// What it finds, for the page of all checks.
    let finds: String
    /// What to do where the evidence does not know better.
    let remedy: String
    /// A command that does it, or shows more; nil where there is none.
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

    /// What it has to say, in its own words.
    func findings(in outcome: Outcome) -> [DoctorFinding] {
        guard case .found(let evidence) = outcome else { return [] }
        return evidence.map {
            DoctorFinding(
                check: id, severity: $0.severity ?? severity, what: $0.what, seen: $0.seen,
                remedy: $0.remedy ?? remedy, command: $0.command ?? command)
        }
    }

    /// All checks, in the order in which a person would look.
    static let all = [
        adapterChecks, controllerChecks, bluetoothdChecks, kernelChecks, daemonChecks, systemChecks, soundChecks,
        headsetChecks,
    ].flatMap { $0 }
}

/// Something that a check has seen.
struct DoctorEvidence: Equatable, Sendable {
    /// One sentence without a full stop.
    var what: String
    /// Where that is seen: a file and what is in it, a property, a process.
    var seen: String
    /// Nil: as bad as the check's.
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

/// What the person gets of it.
struct DoctorFinding: Equatable, Sendable {
    let check: String
    let severity: DoctorSeverity
    let what: String
    let seen: String
    let remedy: String
    let command: String?
}

extension DoctorCheck.Outcome {
    /// `.ok` for no evidence.
    init(_ evidence: [DoctorEvidence]) {
        self = evidence.isEmpty ? .ok : .found(evidence)
    }
}
