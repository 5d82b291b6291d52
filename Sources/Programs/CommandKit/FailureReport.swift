import ArgumentParser
import BTCall
package import JSONText

/// Reason why a verb failed: a line for people, or an object for programs.
package struct FailureReport: Hashable, Sendable {
    /// A cause that a program can distinguish.
    package let code: String
    /// The error's name on the bus; nil for an error from elsewhere.
    package let name: String?
    package let message: String
    package let exitCode: Int32

    package init(_ error: any Error) {
        switch error {
        case let error as BridgeError:
            code = error.code.description
            name = error.name
            message = error.message
            exitCode = error.code == .notRunning || error.code == .noBus ? 3 : 1
        case let error as CommandFailure:
            code = error.code.rawValue
            name = error.name
            message = error.description
            exitCode = 1
        default:
            code = CommandFailure.Code.failed.rawValue
            name = nil
            message = "\(error)"
            exitCode = 1
        }
    }

    /// A command line that the parser refused.
    package init(commandLine message: String) {
        code = "commandLine"
        name = nil
        self.message = message
        exitCode = ExitCode.validationFailure.rawValue
    }

    package var json: JSON {
        [
            "error": [
                "code": .string(code), "name": JSON(name), "message": .string(message),
                "exitCode": JSON(Int(exitCode)),
            ]
        ]
    }
}
