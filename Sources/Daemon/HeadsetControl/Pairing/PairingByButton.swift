import BTCallAPI
import BluetoothTypes
package import BoardControl
package import Configuration
package import ControlLoop
package import Diagnostics
package import Logging

/// The board's pairing button: opens a window as `[pairing]` configures it, or closes the open one.
@ControlPlane
package final class PairingByButton {
    private let button: BoardButton
    private let wanted: PairingConfiguration
    private let pairing: PairingControl
    private let logger: Logger

    /// - Returns: nil without a configured button, or without a board.
    package init?(
        _ configuration: PairingConfiguration, board: (any BoardOpening)?, pairing: PairingControl,
        problems: ProblemList, logger: Logger
    ) {
        guard let specification = configuration.button, let board else { return nil }
        wanted = configuration
        self.pairing = pairing
        self.logger = logger
        button = BoardButton(
            specification, name: "pairing button", problem: "pairing.button", source: board, problems: problems,
            logger: logger)
        button.onChange = { [weak self] isPressed in if isPressed { self?.pressed() } }
    }

    package func start() { button.start() }

    package func stop() { button.stop() }

    private func pressed() {
        Task { @ControlPlane [pairing, logger, wanted] in
            let who = "the pairing button"
            do throws(APIError) {
                if pairing.state != .closed { return try pairing.close(by: who) }
                try await pairing.open(seconds: wanted.seconds, allow: wanted.allow, by: who)
            } catch {
                logger.warning("pairing: \(who) had no effect: \(error)")
            }
        }
    }
}
