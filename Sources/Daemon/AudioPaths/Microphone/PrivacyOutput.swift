import BoardInput
package import Configuration
package import ControlLoop
package import Diagnostics

/// The light or line that is on while samples of a microphone leave the process, or a program captures with a camera.
///
/// A failure to set it is a problem with the reason; the next change tries again.
@ControlPlane
package final class PrivacyOutput {
    /// State in the words of `Audio1.PrivacyOutput`.
    package enum State: String, Sendable, CaseIterable {
        /// None is configured.
        case none
        case off, on
        /// It cannot be set.
        case failed
    }

    package private(set) var state = State.none
    private enum Device {
        case light(LED)
        case line(GPIOOutput)
    }

    private let specification: PrivacyOutputSpecification?
    private let problems: ProblemList
    private var device: Device?
    private let problem: String
    private let name: String

    /// Opens the output and switches it off.
    ///
    /// - Parameters:
    ///   - problem: id of the problem when it cannot be set.
    ///   - name: its name in the problem's text.
    package init(
        _ specification: PrivacyOutputSpecification?, problems: ProblemList, problem: String = "privacy",
        name: String = "privacy output"
    ) {
        self.specification = specification
        self.problem = problem
        self.name = name
        self.problems = problems
        set(false)
    }

    package func set(_ isOn: Bool) {
        guard let specification else { return }
        do throws(BoardInputError) {
            if device == nil { device = try Self.open(specification) }
            switch device {
            case .light(let light): try light.set(isOn)
            case .line(let line): try line.set(isOn)
            case nil: break
            }
            state = isOn ? .on : .off
            problems.end(problem)
        } catch {
            close()
            state = .failed
            problems.begin(
                problem, what: "the \(name) \(specification) is not set: \(error.what)",
                remedy: error.remedy)
        }
    }

    /// Switches the output off and releases it.
    package func stop() {
        set(false)
        close()
    }

    private func close() {
        switch device {
        case .light(let light): light.close()
        case .line(let line): line.close()
        case nil: break
        }
        device = nil
    }

    private static func open(_ specification: PrivacyOutputSpecification) throws(BoardInputError) -> Device {
        switch specification.output {
        case .light(let path): .light(try LED(path: path, isInverted: specification.isInverted))
        case .line(let chip, let line):
            .line(try GPIOOutput(chip: chip, line: line, isInverted: specification.isInverted))
        }
    }
}
