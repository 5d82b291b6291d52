package import BTCallAPI
import BluetoothTypes
package import ControlLoop
package import DBus
package import Logging
package import Routing

/// The program that sets how local devices play and record calls (`org.btcall.AudioConfigurator1`); btcalld calls it each
/// time before it opens one.
///
/// A device waits for the answer, but never longer than the budget. After a late answer btcalld still calls the program, but
/// does not wait until an answer has come in time again; a late answer applies to the next device.
@ControlPlane
package final class AudioConfigurator {
    /// A device that waits for an answer.
    private final class Question {
        var proceed: (@ControlPlane () -> Void)?

        @ControlPlane func finish() {
            let proceed = proceed
            self.proceed = nil
            proceed?()
        }
    }

    /// The program's last answer; nil without an answer or without a program.
    package private(set) var settings: AudioSettingsDescription?
    package let changes = Signal<(new: AudioSettingsDescription?, old: AudioSettingsDescription?)>()
    private let bus: BusConnection
    private let budget: Duration
    private let callTimeout: Duration
    private let logger: Logger
    private var program: AskedProgram?

    /// - Parameters:
    ///   - budget: longest time that a device waits.
    ///   - callTimeout: timeout of the call; a later answer is lost.
    package init(bus: BusConnection, budget: Duration, callTimeout: Duration, logger: Logger) {
        self.bus = bus
        self.budget = budget
        self.callTimeout = callTimeout
        self.logger = logger
    }

    /// Registers a program; repeating a registration changes nothing. It ends with the program's connection to the bus.
    package func register(busName: String, path: String) throws(APIError) {
        if let program {
            guard program.busName == busName, program.path == path else {
                throw APIError(
                    .wrongState, "\(program.busName) configures the audio already: only one program can at a time")
            }
            return
        }
        let new = AskedProgram(busName, path)
        new.watch = bus.watchName(busName) { [weak self, weak new] owner in
            if owner == nil, let self, let new, program === new { leave() }
        }
        program = new
        logger.notice("\(busName) configures the audio at \(path)")
    }

    package func unregister(busName: String, path: String) throws(APIError) {
        guard let program, program.busName == busName, program.path == path else {
            throw APIError(.invalidArgument, "you have registered no audio configurator at \(path)")
        }
        leave()
    }

    /// Asks the program about a device before it is opened.
    ///
    /// - Parameter proceed: called once, when the device may be opened; never before this returns.
    /// - Returns: false if the device may be opened now; `proceed` is not called then.
    package func ask(
        _ device: LocalDevice, _ proposal: AudioSettingsDescription, _ proceed: @escaping @ControlPlane () -> Void
    ) -> Bool {
        guard let program, program.questions < AskedProgram.maximumQuestions else { return false }
        let question = Question()
        if program.isPrompt {
            question.proceed = proceed
            ControlLoop.shared.schedule(after: budget) { [weak self] in
                guard question.proceed != nil else { return }
                self?.note(program, isPrompt: false)
                question.finish()
            }
        }
        let isWaiting = program.isPrompt
        program.questions += 1
        let start = ControlLoop.now
        Task { @ControlPlane in
            let answer = await call(program, device, proposal)
            program.questions -= 1
            if self.program === program {
                if let answer {
                    // A late answer was noted when the budget ended.
                    if start.duration(to: ControlLoop.now) <= budget { note(program, isPrompt: true) }
                    received(answer, from: program, replacing: proposal)
                } else {
                    note(program, isPrompt: false)
                }
            }
            question.finish()
        }
        return isWaiting
    }

    /// - Returns: nil if the program did not answer.
    private func call(
        _ program: AskedProgram, _ device: LocalDevice, _ proposal: AudioSettingsDescription
    ) async -> [String: Value]? {
        do throws(BusError) {
            let reply = try await bus.call(
                program.busName, program.path, BTCallName.Interface.audioConfigurator,
                BTCallName.AudioConfigurator.configure,
                [.string(device.rawValue), .vardict(proposal.fields)], timeout: callTimeout)
            if let values = reply.first?.vardictValue { return values }
            logger.warning("\(program.busName) answers Configure with another type than a{sv}: ignored")
        } catch {
            logger.warning("\(program.busName) does not configure the audio: \(error.message)")
        }
        return nil
    }

    private func received(
        _ answer: [String: Value], from program: AskedProgram, replacing proposal: AudioSettingsDescription
    ) {
        do throws(APIError) {
            let fields = Fields(answer, of: "the settings of Configure")
            try fields.check(AudioSettingsDescription.entries)
            set(try AudioSettingsDescription(fields, replacing: proposal))
        } catch {
            logger.warning("the audio settings of \(program.busName) are ignored as a whole: \(error.message)")
        }
    }

    private func set(_ new: AudioSettingsDescription?) {
        let old = settings
        guard new != old else { return }
        settings = new
        changes.send((new, old))
    }

    private func note(_ program: AskedProgram, isPrompt: Bool) {
        guard isPrompt != program.isPrompt else { return }
        program.isPrompt = isPrompt
        logger.notice(
            isPrompt
                ? "\(program.busName) configures the audio in time again: devices wait for it"
                : "\(program.busName) does not configure the audio within \(budget): devices no longer wait for it"
        )
    }

    private func leave() {
        program?.watch?.cancel()
        program = nil
        set(nil)
    }
}
