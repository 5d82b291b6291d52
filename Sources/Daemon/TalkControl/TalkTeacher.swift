package import BTCallAPI
package import BlueZ
package import BluetoothTypes
package import ControlLoop
package import HeadsetControl
package import Logging
package import Talk

/// Makes rows of unknown talk keys from three presses (`btcall talk learn`), one device at a time.
@ControlPlane
package final class TalkTeacher {
    /// Presses that were recognised so far.
    package let progress = Signal<(BluetoothAddress, Int)>()
    private let registry: DeviceRegistry
    private let talk: HeadsetTalk
    private let devices: TalkDevices
    private let logger: Logger
    private var lesson: (device: BluetoothAddress, machine: TalkLesson)?
    private var timer: Timer?
    private var answer: CheckedContinuation<Result<TalkRow, APIError>, Never>?

    package init(registry: DeviceRegistry, talk: HeadsetTalk, devices: TalkDevices, logger: Logger) {
        self.registry = registry
        self.talk = talk
        self.devices = devices
        self.logger = logger
        talk.heard.subscribe(self) { $0.observed($1.0, $1.1) }
        devices.heard.subscribe(self) { $0.observed($1.0, $1.1) }
    }

    package func stop() {
        guard lesson != nil else { return }
        finish(.failure(APIError(.wrongState, "btcalld stops")))
    }

    /// Listens to a device until its key has been pressed three times, and keeps the row.
    ///
    /// - Throws: `wrongState` during another lesson; `unavailable` for a device that is not paired, or when no row came of it.
    package func learn(_ address: BluetoothAddress) async throws(APIError) -> TalkRow {
        if let lesson {
            throw APIError(.wrongState, "the key of \(lesson.device) is being learnt: wait until that has ended")
        }
        guard let device = registry.device(address), device.paired || device.trusted else {
            throw APIError(.unavailable, "\(address) is not paired: pair it first (`bluetoothctl pair \(address)`)")
        }
        logger.notice("\(address): its talk key is being learnt")
        lesson = (address, TalkLesson(device: address, at: ControlLoop.now))
        devices.beginLesson(of: device)
        step { machine, _ in machine.start() }
        let result = await withCheckedContinuation { answer = $0 }
        return try result.get()
    }

    /// - Throws: `unavailable` when nothing was learnt about the device.
    package func forget(_ address: BluetoothAddress) throws(APIError) {
        let learnt = talk.rows.rows.first { row in
            row.origin == .learnt && row.reasons(for: talk.subject(address)) != nil
        }
        guard let learnt, talk.forget(learnt.name) else {
            throw APIError(.unavailable, "no talk key of \(address) was learnt")
        }
    }

    private func observed(_ address: BluetoothAddress, _ observation: TalkLesson.Observation) {
        guard lesson?.device == address else { return }
        step { $0.observed(observation, at: $1) }
    }

    private func step(_ body: (inout TalkLesson, _ now: Instant) -> [TalkLesson.Action]) {
        guard let device = lesson?.device, var machine = lesson?.machine else { return }
        let actions = body(&machine, ControlLoop.now)
        lesson = (device, machine)
        for action in actions {
            switch action {
            case .recognised(let count): progress.send((device, count))
            case .learnt(let row):
                logger.notice("\(device): its talk key was learnt: \(row.name), \(row.protocol.rawValue)")
                talk.learn(row)
                finish(.success(row))
            case .failed(let failure):
                logger.notice("\(device): its talk key was not learnt: \(failure)")
                finish(.failure(APIError(.unavailable, "\(failure)")))
            case .setDeadline(let deadline):
                timer?.cancel()
                timer = deadline.map { deadline in
                    ControlLoop.shared.schedule(at: deadline) { [weak self] in
                        guard let self else { return }
                        timer = nil
                        step { $0.deadlineReached(at: $1) }
                    }
                }
            }
        }
    }

    private func finish(_ result: Result<TalkRow, APIError>) {
        lesson = nil
        timer?.cancel()
        timer = nil
        devices.endLesson()
        let waiting = answer
        answer = nil
        waiting?.resume(returning: result)
    }
}
