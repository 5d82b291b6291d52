package import AudioPaths
import BTCallAPI
import BlueZ
package import CallControl
package import Configuration
package import ControlLoop
package import DBus
package import Diagnostics
package import HeadsetControl
package import TalkControl

/// The daemon's objects on the bus.
@ControlPlane
package final class BusFace {
    /// How long requests for all objects get the same answer: properties without change signals are at most this old.
    private static let answerAge = Duration.milliseconds(100)

    private let bus: BusConnection
    private let manager: ManagerObject
    private let session: SessionObject
    private let router: RouterObject
    private let calls: CallsObject
    private let audio: AudioObject
    private let headsets: HeadsetObjects
    private let pairing: PairingObject
    private let logReaders: LogReaders

    /// The components that the objects show and change.
    package struct Parts {
        package let settings: Settings
        package let problems: ProblemList
        package let router: any RouteDeciding
        package let audio: AudioParts
        package let calls: CallParts
        package let headsets: HeadsetParts
        package let talk: TalkParts
        package let buttons: Buttons
        package let mixer: PCMMixer
        package let devices: DeviceList
        package let figures: MetricsFeed
        package let keeper: PreferenceKeeper

        package init(
            settings: Settings, problems: ProblemList, router: any RouteDeciding, audio: AudioParts,
            calls: CallParts, headsets: HeadsetParts, talk: TalkParts, buttons: Buttons, mixer: PCMMixer,
            devices: DeviceList, figures: MetricsFeed, keeper: PreferenceKeeper
        ) {
            self.settings = settings
            self.problems = problems
            self.router = router
            self.audio = audio
            self.calls = calls
            self.headsets = headsets
            self.talk = talk
            self.buttons = buttons
            self.mixer = mixer
            self.devices = devices
            self.figures = figures
            self.keeper = keeper
        }
    }

    /// - Parameter version: the daemon's version.
    package init(bus: BusConnection, version: String, lifecycle: any Activating, parts: Parts, logReaders: LogReaders) {
        self.bus = bus
        self.logReaders = logReaders
        let (devices, keeper, pcm) = (parts.devices, parts.keeper, parts.audio.pcm)
        bus.prefer(DeviceRegistry.serviceName)
        // Objects for bluetoothd (profile, media, agent, battery) are hidden from clients.
        bus.exportObjectManager(at: BTCallPath.manager, of: BTCallName.Interface.prefix, answerAge: Self.answerAge)
        manager = ManagerObject(
            bus: bus, version: version, lifecycle: lifecycle, problems: parts.problems, settings: parts.settings,
            headsets: parts.headsets, cameras: parts.audio.cameras, logReaders: logReaders, figures: parts.figures)
        session = SessionObject(bus: bus, settings: parts.settings, audio: parts.audio, router: parts.router)
        router = RouterObject(
            bus: bus, router: parts.router, interruptions: parts.calls.interruptions,
            describe: { devices.descriptions }, codec: { devices.codec(of: $0) }, onPreference: { keeper.keep() },
            replacedPreference: keeper.replacedPreference, onReplaced: { keeper.replacedPreference = $0 },
            notes: { devices.notes }, changes: devices.changes)
        calls = CallsObject(
            bus: bus, calls: parts.calls, audio: parts.audio, talk: parts.talk, settings: parts.settings)
        audio = AudioObject(
            bus: bus, audio: parts.audio, calls: parts.calls, mixer: parts.mixer, settings: parts.settings,
            onPreference: {
                keeper.keep()
                pcm.valuesChanged()
            })
        headsets = HeadsetObjects(bus: bus, headsets: parts.headsets, buttons: parts.buttons, lifecycle: lifecycle)
        pairing = PairingObject(bus: bus, pairing: parts.headsets.pairing)
        parts.mixer.microphoneTurns.subscribe(keeper) { $0.keep() }
    }

    /// Ends everything that clients hold, without signals, when the daemon stops.
    package func close() {
        router.close()
        session.close()
        logReaders.close()
    }
}
