import ControlLoop
import DBus

/// A program on the bus that offered to be asked, at a path of its own: whoever asks waits only for one that has been in time.
@ControlPlane
class AskedProgram {
    /// Questions that it has not answered yet, at most.
    static let maximumQuestions = 16

    let busName: String
    let path: String
    var isPrompt = true
    var questions = 0
    /// Tells when it leaves the bus.
    var watch: Subscription?

    init(_ busName: String, _ path: String) {
        self.busName = busName
        self.path = path
    }
}
