import ArgumentParser
import BTCall

/// Reads the DEVICE of a command line.
enum DeviceArgument {
    static let accepted = DeviceChoice.accepted

    static let help = ArgumentHelp("One of \(DeviceChoice.accepted).", valueName: "device")

    /// - Throws: `ValidationError` naming all that is accepted.
    static func read(_ text: String) throws -> DeviceChoice {
        guard let device = DeviceChoice(text) else {
            throw ValidationError("accepted: \(DeviceChoice.accepted)")
        }
        return device
    }
}
