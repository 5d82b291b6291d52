import AudioPaths
import BluetoothSockets
package import BluetoothTypes
package import ControlLoop
import Diagnostics
package import HeadsetPolicy
package import Logging

/// Sets up a voice link when its turn has come.
@ControlPlane
package protocol LinkContender: AnyObject {
    func turnCame(_ ticket: LinkQueue.Ticket)
    /// The set-ups of others took too long.
    func turnRefused(_ ticket: LinkQueue.Ticket)
}

/// Carries out what the controller's queue decides: one voice link is set up at a time, with a pause after a close.
@ControlPlane
package final class LinkAdmission {
    /// Where links come from; used by whose turn it is.
    package let opener: any AudioLinkOpening
    package enum Event {
        /// The set-up of a headset's link begins, whoever asked for it.
        case settingUp(BluetoothAddress)
        /// The set-up of a headset's link has to be tried again.
        case retried(BluetoothAddress)
        /// The set-up of a link with a codec has ended; nil: it is up.
        case ended(VoiceCodec, AudioFailure?)
        /// No link is being set up any more.
        case idle
    }

    package let events = Signal<Event>()
    /// What may be wrong with a link that is up while nothing has come in.
    package let advice: (@ControlPlane (BluetoothAddress) -> String)?
    private let logger: Logger
    private var queue: LinkQueue
    private var contenders: [LinkQueue.Ticket: any LinkContender] = [:]
    private var ticketCount: UInt64 = 0
    private var timer: Timer?
    private var actions: [LinkQueue.Action] = []
    private var isActing = false

    /// - Parameter pause: least time between the close of a headset's link and its next set-up.
    package init(
        opener: any AudioLinkOpening, pause: Duration, advice: (@ControlPlane (BluetoothAddress) -> String)? = nil,
        logger: Logger
    ) {
        self.opener = opener
        self.advice = advice
        self.logger = logger
        queue = LinkQueue(pause: pause)
    }

    /// Least time between the close of a headset's link and its next set-up.
    package var pause: Duration {
        get { queue.pause }
        set { queue.pause = newValue }
    }

    /// Whether a link is being set up, of whichever headset.
    package var isSettingUp: Bool { queue.current != nil }
    /// How many closed links are remembered.
    package var pauseCount: Int { queue.pauseCount }

    /// A place in the queue, for one set-up.
    package func ticket(for address: BluetoothAddress) -> LinkQueue.Ticket {
        ticketCount += 1
        return LinkQueue.Ticket(address, number: ticketCount)
    }

    /// - Parameters:
    ///   - contender: told when its turn has come, perhaps at once; kept until it leaves.
    ///   - limit: how long it waits for the set-ups of others.
    package func enter(_ ticket: LinkQueue.Ticket, _ contender: any LinkContender, limit: Duration) {
        events.send(.settingUp(ticket.address))
        contenders[ticket] = contender
        perform(queue.enter(ticket, limit: limit, at: ControlLoop.now))
    }

    /// The set-up begins once more, after the pause.
    package func again(_ ticket: LinkQueue.Ticket) { perform(queue.again(ticket, at: ControlLoop.now)) }

    /// The set-up has ended, or is not wanted any more.
    package func leave(_ ticket: LinkQueue.Ticket) {
        contenders[ticket] = nil
        perform(queue.leave(ticket, at: ControlLoop.now))
    }

    /// A link of the headset is gone: the pause begins.
    package func linkClosed(_ address: BluetoothAddress) { queue.closed(address, at: ControlLoop.now) }

    private func perform(_ new: [LinkQueue.Action]) {
        actions += new
        guard !isActing else { return }
        isActing = true
        while !actions.isEmpty { perform(actions.removeFirst()) }
        isActing = false
    }

    private func perform(_ action: LinkQueue.Action) {
        switch action {
        case .grant(let ticket): contenders[ticket]?.turnCame(ticket)
        case .refuse(let ticket): contenders.removeValue(forKey: ticket)?.turnRefused(ticket)
        case .setDeadline(let deadline): setDeadline(deadline)
        case .idle: events.send(.idle)
        case .fault(let reason): logger.error("fault of our own in the queue of audio links: \(reason)")
        }
    }

    private func setDeadline(_ deadline: Instant?) {
        timer?.cancel()
        timer = deadline.map { deadline in
            ControlLoop.shared.schedule(at: deadline) { [weak self] in
                guard let self else { return }
                timer = nil
                perform(queue.deadlineReached(at: ControlLoop.now))
            }
        }
    }
}
