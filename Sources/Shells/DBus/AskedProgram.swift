package import ControlLoop

/// A program on the bus that offered to be asked, at a path of its own: whoever asks waits only for one that has been in time.
@ControlPlane
package final class AskedProgram {
    /// Questions that it has not answered yet, at most.
    package static let maximumQuestions = 16

    package let busName: String
    package let path: String
    package var isPrompt = true
    package var questions = 0
    /// Members that it has turned out not to have.
    package var missing: Set<String> = []
    /// Tells when it leaves the bus.
    package var watch: Subscription?

    package init(_ busName: String, _ path: String) {
        self.busName = busName
        self.path = path
    }
}
