import AudioPaths
import BluetoothSockets
package import BluetoothTypes
package import ControlLoop
import Diagnostics
package import HeadsetPolicy
package import Logging

/// Waits for its turn to set up a voice link.
@ControlPlane
package protocol LinkContender: AnyObject {
    func turnCame(_ ticket: LinkQueue.Ticket)
    /// The other set-ups took too long.
    func turnRefused(_ ticket: LinkQueue.Ticket)
}

/// Carries out the decisions of the controller's queue: one voice link is set up at a time, with a pause after a close.
@ControlPlane
package final class LinkAdmission {
    /// Source of links, used by the contender whose turn it is.
    package let opener: any AudioLinkOpening
    package enum Event {
        /// The set-up of a headset's link begins, whichever side requested it.
        case settingUp(BluetoothAddress)
        /// The set-up of a headset's link has to be retried.
        case retried(BluetoothAddress)
        /// The set-up of a link with a codec has ended; nil: successfully.
        case ended(VoiceCodec, AudioFailure?)
        /// A headset's link was up, and no packet came.
        case nothingCameIn(BluetoothAddress)
        /// No link is being set up any more.
        case idle
    }

    package let events = Signal<Event>()
    /// Explains why a link may be up without incoming audio.
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

    /// Whether a link of any headset is being set up.
    package var isSettingUp: Bool { queue.current != nil }
    /// Number of closed links that are remembered.
    package var pauseCount: Int { queue.pauseCount }

    /// Returns a place in the queue for one set-up.
    package func ticket(for address: BluetoothAddress) -> LinkQueue.Ticket {
        ticketCount += 1
        return LinkQueue.Ticket(address, number: ticketCount)
    }

    /// - Parameters:
    ///   - contender: notified when its turn has come, perhaps at once; retained until it leaves.
    ///   - limit: how long it waits for the set-ups of others.
    ///   - pauses: whether it waits for the headset's pause, too.
    package func enter(_ ticket: LinkQueue.Ticket, _ contender: any LinkContender, limit: Duration, pauses: Bool) {
        events.send(.settingUp(ticket.address))
        contenders[ticket] = contender
        perform(queue.enter(ticket, limit: limit, pauses: pauses, at: ControlLoop.now))
    }

    /// Starts the set-up again after the pause.
    package func again(_ ticket: LinkQueue.Ticket) { perform(queue.again(ticket, at: ControlLoop.now)) }

    /// The set-up has ended, or is no longer wanted.
    package func leave(_ ticket: LinkQueue.Ticket) {
        contenders[ticket] = nil
        perform(queue.leave(ticket, at: ControlLoop.now))
    }

    /// A link of the headset has closed: starts the pause.
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
        case .fault(let reason): logger.error("internal fault in the queue of audio links: \(reason)")
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
