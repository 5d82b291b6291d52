package import ControlLoop

/// A program on the bus that has registered to be asked, at a path of its own. Callers wait only for a program whose answers
/// have been in time.
@ControlPlane
package final class AskedProgram {
    /// Most unanswered questions.
    package static let maximumQuestions = 16

    package let busName: String
    package let path: String
    package var isPrompt = true
    package var questions = 0
    /// Methods that it has turned out to lack.
    package var missing: Set<String> = []
    /// Watches for its departure from the bus.
    package var watch: Subscription?

    package init(_ busName: String, _ path: String) {
        self.busName = busName
        self.path = path
    }
}
