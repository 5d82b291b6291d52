/// A known fault of some versions of the kernel or of bluetoothd: a row of stack.conf.
package struct StackFault: Hashable, Sendable {
    package enum Program: String, CaseIterable, Sendable {
        case kernel, bluetoothd
    }

    package enum Severity: String, CaseIterable, Sendable {
        case warning, note
    }

    /// A distribution, and its first package without the fault.
    package struct Mended: Hashable, Sendable {
        package let distribution: String
        package let version: PackageVersion
    }

    package let name: String
    /// In its file, from 1.
    package let line: Int
    package internal(set) var program = Program.kernel
    /// Of the program's authors.
    package internal(set) var versions: [VersionRange] = []
    /// Names of kernels (`uname -r`).
    package internal(set) var releases: [VersionRange] = []
    /// Empty: any.
    package internal(set) var distributions: [String] = []
    package internal(set) var mended: [Mended] = []
    /// USB alternate settings that carry mSBC; empty: any adapter.
    package internal(set) var alternateSettings: [Int] = []
    package internal(set) var severity = Severity.warning
    /// Follows the program's name and version.
    package internal(set) var symptom = ""
    package internal(set) var remedy: String?
    package internal(set) var command: String?
    package internal(set) var reference = ""
    package internal(set) var isEnabled = true

    init(name: String, line: Int) {
        self.name = name
        self.line = line
    }

    /// What runs on a machine.
    package struct Subject: Hashable, Sendable {
        /// For example `5.66`, or of a kernel its `uname -r`.
        package var release: String
        /// Version of the program's authors; nil: that of `release`.
        package var upstream: String?
        /// ID of the distribution.
        package var distribution: String?
        /// USB alternate settings that carry mSBC, one for each adapter on USB.
        package var alternateSettings: Set<Int>

        package init(
            release: String, upstream: String? = nil, distribution: String? = nil, alternateSettings: Set<Int> = []
        ) {
            self.release = release
            self.upstream = upstream
            self.distribution = distribution
            self.alternateSettings = alternateSettings
        }
    }

    /// - Parameter packaged: version of the distribution's package; requested only when the row names that distribution as
    ///   mended. Nil: unknown, and the fault applies.
    package func concerns(_ subject: Subject, packaged: () -> PackageVersion?) -> Bool {
        let isVersion = versions.contains { $0.contains(subject.upstream ?? subject.release) }
        guard isEnabled, isVersion || releases.contains(where: { $0.contains(subject.release) }) else { return false }
        if !distributions.isEmpty {
            guard let distribution = subject.distribution, distributions.contains(distribution) else { return false }
        }
        if !alternateSettings.isEmpty, subject.alternateSettings.isDisjoint(with: alternateSettings) { return false }
        let limits = mended.filter { $0.distribution == subject.distribution }.map(\.version)
        guard !limits.isEmpty, let version = packaged() else { return true }
        return limits.allSatisfy { version < $0 }
    }
}
