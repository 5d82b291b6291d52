package import DBus

/// Why bluetoothd does not register our A2DP source, or our player, on an adapter.
package struct MediaRefusal: Error, Equatable, Sendable {
    package enum Part: String, Equatable, Sendable, CaseIterable {
        /// Without it A2DP does not work.
        case endpoint
        /// Without it the headset's music buttons do nothing; A2DP itself works.
        case player
    }

    package enum Cause: Equatable, Sendable {
        /// bluetoothd runs without the required plugin. Not retried before bluetoothd restarts.
        case notOffered
        /// The bus does not let this user talk to bluetoothd.
        case notPermitted(BusError)
        case timedOut
        case failed(BusError)
    }

    /// `hci0`
    package let controller: String
    package let part: Part
    package let cause: Cause

    init(controller: String, part: Part, error: BusError) {
        self.controller = controller
        self.part = part
        cause =
            switch error.name {
            case BlueZNames.errorPrefix + "NotSupported", BusError.Name.unknownMethod, BusError.Name.unknownInterface:
                .notOffered
            case BusError.Name.accessDenied, BlueZNames.errorPrefix + "NotPermitted": .notPermitted(error)
            case BusError.Name.noReply: .timedOut
            default: .failed(error)
            }
    }
}

extension MediaRefusal: CustomStringConvertible {
    /// One line with the remedy.
    package var description: String {
        let what =
            switch part {
            case .endpoint: "the A2DP source"
            case .player: "the player for headsets' buttons"
            }
        return switch (cause, part) {
        case (.notOffered, .endpoint):
            """
            bluetoothd does not take \(what) on \(controller): it runs without its a2dp plugin (`--noplugin=a2dp` in \
            bluetooth.service, or a build without it); calls are not concerned
            """
        case (.notOffered, .player):
            """
            bluetoothd does not take \(what) on \(controller): it runs without its avrcp plugin (`--noplugin=avrcp` in \
            bluetooth.service, or a build without it)
            """
        case (.notPermitted(let error), _):
            """
            the bus does not let this user register \(what) with bluetoothd on \(controller): add it to the group \
            `bluetooth`, or install the policy file of btcall (\(error))
            """
        case (.timedOut, _):
            """
            bluetoothd did not answer when \(what) was registered on \(controller); btcall tries again; see \
            `journalctl -u bluetooth`
            """
        case (.failed(let error), _):
            """
            bluetoothd did not register \(what) on \(controller): \(error); btcall tries again; see \
            `journalctl -u bluetooth`
            """
        }
    }
}
