package import BluetoothTypes

/// Another program on the bus that is known to register hands-free profiles with bluetoothd.
package struct BusPeer: Equatable, Sendable {
    /// `:1.42`
    package let uniqueName: String
    package let processID: UInt32?
    /// The kernel's name of the process, at most 15 bytes; empty if it may not be read.
    package let processName: String
    /// The systemd unit; empty if it has none.
    package let unit: String
    package let program: Program

    package typealias Program = RivalProgram

    /// How to make it release the Hands-Free Profile, as the end of a sentence.
    package var remedy: String { program.profileRemedy }
    /// How to make it release the A2DP of headsets, as the end of a sentence.
    package var mediaRemedy: String { program.mediaRemedy }
}

extension BusPeer: CustomStringConvertible {
    /// `pulseaudio (:1.42, process 1234, unit pulseaudio.service)`
    package var description: String {
        var details = [uniqueName]
        if let processID { details.append("process \(processID)") }
        if !unit.isEmpty { details.append("unit \(unit)") }
        let name = processName.isEmpty ? program.rawValue : processName
        return "\(name) (\(details.joined(separator: ", ")))"
    }
}
