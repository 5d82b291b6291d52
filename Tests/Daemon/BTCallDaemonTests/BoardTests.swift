import ALSA
import BTCall
import BTCallBench
import BTCallDaemon
import BTCallSimulator
import BluetoothTypes
import BoardControl
import CallControl
import Configuration
import ControlLoop
import Routing
import TestSupport
import Testing

extension DaemonTests {
    @Suite @ControlPlane struct BoardTests {
        /// A board with earpiece, loudspeaker and a socket for a wired headset.
        private func run(
            _ board: SimulatedBoard, jack: JackSpecification? = nil, hook: HookSpecification? = nil,
            mixer: String? = nil, volume: Int? = nil, debounce: Duration = .milliseconds(30),
            prepare: (Box) async throws -> Void = { _ in }, body: (Box) async throws -> Void
        ) async throws {
            try await Box.run(board: board) { configuration in
                configuration.localDevices[.wiredHeadset] = .init(
                    playback: "simulated", capture: "simulated", jack: jack)
                configuration.localDevices[.earpiece]?.hook = hook
                configuration.localDevices[.earpiece]?.mixer = mixer
                configuration.localDevices[.earpiece]?.volume = volume
                configuration.routing.jackDebounce = debounce
                configuration.routing.jackMasksEarpiece = false
            } prepare: {
                try await prepare($0)
            } body: { box in
                try await box.prefer(.none, default: .earpiece)
                try await body(box)
            }
        }

        private func unavailability(_ box: Box, _ choice: Choice) async throws -> String? {
            try await box.bridge.audioDeviceManager.audioDevices().first { $0.choice == choice }?.unavailableBecause
        }

        // MARK: S0.21, the wired headset

        @Test func `S0.21 plugging a jack in a call moves it there, unplugging moves it back, bouncing does nothing`()
            async throws
        {
            let board = SimulatedBoard()
            board.addJack()
            try await run(board, jack: .parts([SimulatedBoard.headphone, SimulatedBoard.microphone])) { box in
                let manager = box.bridge.audioDeviceManager
                #expect(try await unavailability(box, .wiredHeadset) == "nothing is plugged in")
                let registration = try await box.register()
                _ = try await box.startCall(registration)
                try await box.route(.earpiece)
                board.plug()
                try await box.route(.wiredHeadset)
                try await box.playing("wiredHeadset")
                #expect(try await manager.explain().level == "jackInCall")
                #expect(try await box.bridge.status().reason == "newDeviceAvailable")
                board.unplug()
                try await box.route(.earpiece)
                #expect(try await box.bridge.status().reason == "oldDeviceUnavailable")
                try await box.playing("earpiece")
            }
            // Repeated with a debounce longer than the test: both edges fall into it.
            let bouncing = SimulatedBoard()
            bouncing.addJack()
            let parts = JackSpecification.parts([SimulatedBoard.headphone, SimulatedBoard.microphone])
            try await run(bouncing, jack: parts, debounce: .seconds(600)) { box in
                let registration = try await box.register()
                _ = try await box.startCall(registration)
                try await box.route(.earpiece)
                bouncing.plug()
                bouncing.unplug()
                #expect(box.daemon.router.policy.jack == .empty)
                #expect(box.daemon.router.policy.current == .local(.earpiece))
                #expect(box.daemon.router.policy.reason == .callStarted)
            }
        }

        @Test func `S0.21 a headset plugged at the start is available, with an input only if it has a microphone`()
            async throws
        {
            let board = SimulatedBoard()
            board.addJack()
            board.plug(microphone: false)
            board.usualJack = [SimulatedBoard.headphone, SimulatedBoard.microphone]
            try await run(board) { box in
                try await eventually("the headphones are available") {
                    box.daemon.router.policy.availableDevices.contains(.wiredHeadset)
                }
                let registration = try await box.register()
                _ = try await box.startCall(registration)
                try await box.bridge.audioDeviceManager.select(.wiredHeadset)
                try await box.route(.wiredHeadset)
                #expect(box.daemon.router.policy.input == .builtinMic)
                board.plug(microphone: true)
                try await eventually("the microphone is used") { box.daemon.router.policy.input == .jackMic }
                try await box.playing("wiredHeadset")
            }
        }

        @Test func `S0.21 a pulled USB headset is noticed when unused and in a call, and returns when plugged`()
            async throws
        {
            let board = SimulatedBoard()
            try await run(board, jack: nil) { box in
                // Without a jack, the presence of its card counts.
                #expect(board.watched.contains(.cards))
                #expect(box.daemon.router.policy.availableDevices.contains(.wiredHeadset))
                box.simulation.removeCard(.wiredHeadset)
                board.onChange?(.cards)
                try await eventually("it is gone") {
                    !box.daemon.router.policy.availableDevices.contains(.wiredHeadset)
                }
                #expect(try await box.problem("device.wiredHeadset").what.contains("no such card"))
                box.simulation.addCard(.wiredHeadset, microphone: Tone.samples)
                board.onChange?(.cards)
                try await eventually("it is back") {
                    box.daemon.router.policy.availableDevices.contains(.wiredHeadset)
                }
                try await box.noProblem("device.wiredHeadset")
                let registration = try await box.register()
                _ = try await box.startCall(registration)
                try await box.bridge.audioDeviceManager.select(.wiredHeadset)
                try await box.route(.wiredHeadset)
                box.simulation.removeCard(.wiredHeadset)
                board.onChange?(.cards)
                try await box.route(.earpiece)
            }
        }

        @Test func `S0.21 a jack that the card lacks is a problem that lists the card's jacks, until it appears`()
            async throws
        {
            let board = SimulatedBoard()
            try await run(board, jack: .parts([SimulatedBoard.headphone])) { box in
                let problem = try await box.problem("jack.wiredHeadset")
                #expect(problem.what.contains("Headphone Jack"))
                #expect(problem.remedy.contains("Line Jack"))
                #expect(!box.daemon.router.policy.availableDevices.contains(.wiredHeadset))
                board.addJack()
                board.plug()
                board.onChange?(.cards)
                try await box.noProblem("jack.wiredHeadset")
                try await eventually("the headset is available") {
                    box.daemon.router.policy.availableDevices.contains(.wiredHeadset)
                }
                board.pullJack()
                try await eventually("it has gone with its card") {
                    !box.daemon.router.policy.availableDevices.contains(.wiredHeadset)
                }
                try await box.noProblem("jack.wiredHeadset")
                board.insertJack()
                board.plug()
                try await eventually("it is back") {
                    box.daemon.router.policy.availableDevices.contains(.wiredHeadset)
                }
            }
        }

        @Test func `S0.21 a plugged headset is unavailable while its card is busy`() async throws {
            let board = SimulatedBoard()
            board.addJack()
            let parts = JackSpecification.parts([SimulatedBoard.headphone])
            try await run(board, jack: parts) { box in
                box.simulation.removeCard(.wiredHeadset)
                board.onChange?(.cards)
            } body: { box in
                board.plug()
                try await eventually("the plug is accepted") { box.daemon.router.policy.jack == .headset }
                #expect(!box.daemon.router.policy.availableDevices.contains(.wiredHeadset))
                box.simulation.addCard(.wiredHeadset, microphone: Tone.samples)
                board.onChange?(.cards)
                try await eventually("it has appeared") {
                    box.daemon.router.policy.availableDevices.contains(.wiredHeadset)
                }
                board.unplug()
                try await eventually("it is not") {
                    !box.daemon.router.policy.availableDevices.contains(.wiredHeadset)
                }
                board.onChange?(.cards)
                #expect(!box.daemon.router.policy.availableDevices.contains(.wiredHeadset))
            }
        }

        @Test func `Two devices share a card that opens once: the previous device is closed first`() async throws {
            let board = SimulatedBoard()
            board.addJack()
            try await run(board, jack: .parts([SimulatedBoard.headphone])) { box in
                box.simulation.sharedCard = [.earpiece, .speakerphone]
                let registration = try await box.register()
                _ = try await box.startCall(registration)
                try await box.route(.earpiece)
                try await box.playing("earpiece")
                try await box.bridge.audioDeviceManager.select(.speakerphone)
                try await box.route(.speakerphone)
                try await box.playing("speakerphone")
                try await box.bridge.audioDeviceManager.select(.earpiece)
                try await box.route(.earpiece)
                try await box.playing("earpiece")
                #expect(try await box.bridge.status().problems.allSatisfy { !$0.id.hasPrefix("device.") })
            }
        }

        // MARK: S0.22, the hook of a handset

        @Test
        func `S0.22 lifting the handset moves a call to the earpiece, hanging up moves it back and ends no call`()
            async throws
        {
            let board = SimulatedBoard()
            board.addHook()
            try await run(board, hook: HookSpecification("evdev:cradle")) { box in
                try await box.prefer(.speakerphone, default: .none)
                let registration = try await box.register()
                let call = try await box.startCall(registration)
                try await box.route(.speakerphone)
                board.lift()
                try await box.route(.earpiece)
                #expect(try await box.bridge.status().reason == "userSelection")
                try await box.playing("earpiece")
                board.hangUp()
                try await box.route(.speakerphone)
                #expect(try await box.bridge.calls.list().map(\.id) == [call])
                #expect(box.telephone.requests.allSatisfy { if case .end = $0 { false } else { true } })
            }
        }

        @Test func `S0.22 lifting the handset answers a ringing call on the earpiece`() async throws {
            let board = SimulatedBoard()
            board.addHook()
            try await run(board, hook: HookSpecification("gpio:gpiochip0:17")) { box in
                try await box.prefer(.speakerphone, default: .none)
                let registration = try await box.register()
                let call = try await registration.reportIncoming(number: "1001")
                board.lift()
                try await box.route(.earpiece)
                #expect(box.telephone.requests.count { $0 == .answer(call) } == 1)
                #expect(try await box.bridge.calls.list().map(\.state) == [.active])
            }
        }

        @Test func `S0.22 a missing hook is a problem until it appears; a removed hook counts as hung up`() async throws
        {
            let board = SimulatedBoard()
            try await run(board, hook: HookSpecification("evdev:cradle")) { box in
                #expect(board.watched.contains(.inputs))
                let problem = try await box.problem("hook.earpiece")
                #expect(problem.what.contains("cradle"))
                #expect(problem.remedy.contains("gpio-keys"))
                board.addHook()
                board.onChange?(.inputs)
                try await box.noProblem("hook.earpiece")
                try await box.prefer(.speakerphone, default: .none)
                let registration = try await box.register()
                _ = try await box.startCall(registration)
                board.lift()
                try await box.route(.earpiece)
                board.removeHook()
                try await box.route(.speakerphone)
                _ = try await box.problem("hook.earpiece")
            }
        }

        // MARK: S0.9 and S0.19, the mixer

        @Test func `S0.9 Refresh sets the mixer and reads the jack again, and changes no route`() async throws {
            let board = SimulatedBoard()
            board.addJack()
            board.addVolume("Speaker", 10)
            let parts = JackSpecification.parts([SimulatedBoard.headphone, SimulatedBoard.microphone])
            // A debounced plug in a call moves it; another row tests that.
            try await run(board, jack: parts, mixer: "Speaker", volume: 80, debounce: .seconds(4)) { box in
                let volume = try #require(board.volumes["Speaker"])
                let registration = try await box.register()
                _ = try await box.startCall(registration)
                try await box.route(.earpiece)
                #expect(volume.setting.volumes == [40, 40])
                volume.changeSilently(3)
                board.plugSilently()
                let reason = try await box.bridge.status().reason
                try await box.bridge.audioDeviceManager.refreshSpeakerphoneSetting()
                #expect(volume.setting.volumes == [40, 40])
                #expect(try await box.bridge.audioDeviceManager.activeRoute() == .earpiece)
                #expect(try await box.bridge.status().reason == reason)
                try await eventually("the plug is accepted") { box.daemon.router.policy.jack == .headset }
            }
        }

        @Test
        func `S0.19 S3.1 a mixer change by others is reverted; the third within ten seconds stays, as btcall why says`()
            async throws
        {
            let board = SimulatedBoard()
            board.addVolume("Speaker", 10)
            try await run(board, mixer: "Speaker", volume: 80) { box in
                let manager = box.bridge.audioDeviceManager
                let volume = try #require(board.volumes["Speaker"])
                // Without a call nothing is held or set.
                #expect(volume.opened == 0 && volume.writes == 0)
                let registration = try await box.register()
                _ = try await box.startCall(registration)
                try await box.route(.earpiece)
                try await eventually("it is set") { volume.setting.volumes == [40, 40] }
                let plain = try await manager.explain().text
                volume.change(5)
                try await eventually("it is set again") { volume.setting.volumes == [40, 40] }
                volume.change(40, isOn: false)
                try await eventually("it is switched on again") { volume.setting.switches == [true, true] }
                let writes = volume.writes
                #expect(writes == 3)
                #expect(try await manager.explain().text.count == plain.count)
                volume.change(20)
                let problem = try await box.problem("mixer.earpiece")
                #expect(problem.what.contains("Speaker"))
                #expect(problem.remedy.contains("Refresh"))
                #expect(volume.setting.volumes == [20, 20])
                let note = try #require(try await manager.explain().text.last)
                #expect(note.hasPrefix("note: mixer control Speaker of earpiece: another program changed it 3 times"))
                #expect(note.contains("left at 40 % (wanted 80 %)"))
                volume.change(22)
                #expect(volume.writes == writes)
                // Refresh sets the level again and restarts the count.
                try await manager.refreshSpeakerphoneSetting()
                #expect(volume.setting.volumes == [40, 40])
                try await box.noProblem("mixer.earpiece")
                #expect(try await manager.explain().text.count == plain.count)
                volume.change(5)
                try await eventually("it is set again") { volume.setting.volumes == [40, 40] }
            }
            #expect(board.volumes["Speaker"]?.opened == 0)
        }

        @Test func `S0.19 after a route change the mixer is set again, and without a call nothing is set`() async throws
        {
            let board = SimulatedBoard()
            board.addVolume("Speaker", 13)
            // Without a configured volume, the level found at the start applies.
            try await run(board, mixer: "Speaker") { box in
                let volume = try #require(board.volumes["Speaker"])
                let registration = try await box.register()
                let call = try await box.startCall(registration)
                try await box.route(.earpiece)
                for level in [1, 2, 3] { volume.change(level) }
                _ = try await box.problem("mixer.earpiece")
                try await box.bridge.audioDeviceManager.select(.speakerphone)
                try await box.route(.speakerphone)
                try await box.noProblem("mixer.earpiece")
                #expect(volume.setting.volumes == [3, 3])
                #expect(volume.opened == 0)
                try await box.bridge.audioDeviceManager.clearSelection()
                try await box.route(.earpiece)
                try await eventually("the level that was found is back") { volume.setting.volumes == [13, 13] }
                try await registration.update(call, .ended)
                try await box.route(.none)
                let writes = volume.writes
                volume.change(4)
                #expect(volume.writes == writes)
                #expect(volume.setting.volumes == [4, 4])
            }
        }

        @Test func `S0.19 a missing mixer control is a problem that lists the existing ones, until it appears`()
            async throws
        {
            let board = SimulatedBoard()
            try await run(board, mixer: "Speeker", volume: 50) { box in
                let problem = try await box.problem("mixer.earpiece")
                #expect(problem.what.contains("Speeker"))
                #expect(problem.remedy == "it has Master, Speaker")
                let registration = try await box.register()
                _ = try await box.startCall(registration)
                try await box.route(.earpiece)
                board.addVolume("Speeker", 3)
                board.onChange?(.cards)
                try await box.noProblem("mixer.earpiece")
                #expect(board.volumes["Speeker"]?.setting.volumes == [25, 25])
            }
        }
    }
}
