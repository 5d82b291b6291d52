package import BluetoothTypes

/// The object paths of the daemon.
package enum BTCallPath {
    package static let manager = "/org/btcall"
    package static let router = "/org/btcall/router"
    package static let audio = "/org/btcall/audio"
    package static let session = "/org/btcall/session"
    package static let calls = "/org/btcall/calls"
    package static let headsets = "/org/btcall/headsets"
    /// Of btcall-video.
    package static let video = "/org/btcall/video"

    /// The object of a call: its identifier with underscores for dashes.
    ///
    /// - Parameter id: the text of a UUID, `8-4-4-4-12` hexadecimal digits.
    package static func call(_ id: String) -> String {
        calls + "/" + id.lowercased().map { $0 == "-" ? "_" : String($0) }.joined()
    }

    /// The identifier of the call at `path`; nil when the path is not that of a call.
    package static func callID(at path: String) -> String? {
        guard let component = lastComponent(of: path, below: calls) else { return nil }
        let groups = component.split(separator: "_", omittingEmptySubsequences: false)
        guard groups.map(\.utf8.count) == [8, 4, 4, 4, 12] else { return nil }
        guard groups.allSatisfy({ $0.utf8.allSatisfy(isHexDigit) }) else { return nil }
        return groups.joined(separator: "-")
    }

    /// The object of a headset that is paired or connected.
    package static func headset(_ address: BluetoothAddress) -> String {
        headsets + "/" + address.pathComponent
    }

    /// The address of the headset at `path`; nil when the path is not that of a headset.
    package static func headsetAddress(at path: String) -> BluetoothAddress? {
        lastComponent(of: path, below: headsets).flatMap { BluetoothAddress($0) }
    }

    private static func lastComponent(of path: String, below parent: String) -> Substring? {
        guard path.hasPrefix(parent + "/") else { return nil }
        let component = path.dropFirst(parent.count + 1)
        return component.isEmpty || component.contains("/") ? nil : component
    }

    private static func isHexDigit(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "a")...UInt8(ascii: "f"): true
        default: false
        }
    }
}
