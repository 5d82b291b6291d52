package import Configuration
package import ControlLoop
package import Diagnostics
package import Logging
package import Routing

/// The board's own sounds: the ringer, call tones, announcements.
@ControlPlane
package final class LocalSounds {
    package let ringer: Ringer
    package let tones: CallTones
    package let announcements: Announcements

    /// - Parameter playable: local devices that can play.
    package init(
        graph: AudioGraph, router: any RouteDeciding, configuration: RingConfiguration, playable: Set<LocalDevice>,
        problems: ProblemList, logger: Logger
    ) {
        ringer = Ringer(graph: graph, configuration: configuration, problems: problems, logger: logger)
        tones = CallTones(graph: graph, configuration: configuration, logger: logger)
        announcements = Announcements(
            graph: graph, configuration: configuration, playable: playable, logger: logger)
        router.ringing.subscribe(ringer) { $0.follow($1) }
    }

    /// Applies to sounds that start from now on.
    package func follow(_ configuration: RingConfiguration) {
        ringer.configuration = configuration
        tones.configuration = configuration
        announcements.configuration = configuration
    }
}
