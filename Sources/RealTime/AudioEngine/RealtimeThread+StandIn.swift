import RealTimeStorage

/// A link, and the terminal to which the calls move as soon as the link falls silent while they are on it.
package struct StandIn: BitwiseCopyable, Equatable, Sendable {
    package let link: UInt32
    package let terminal: UInt32

    package init(link: UInt32, terminal: UInt32) {
        self.link = link
        self.terminal = terminal
    }
}

// The switch that the control side has decided before it is due.
extension RealtimeThread {
    /// Reports a link that has fallen silent. The switch that is prepared for it is made in the same turn: the control side
    /// would command it a thread's wake-up and a decision later, and the wearer would hear nothing meanwhile.
    ///
    /// - Parameter silence: nanoseconds since its last sign of life.
    @_noLocks
    mutating func fellSilent(_ terminal: TerminalPointer, for silence: Int64) {
        let next = preparedSwitch(from: terminal)
        report(
            .linkSilent(
                terminal: terminal.pointee.id, afterMilliseconds: Int(silence / 1_000_000), standIn: next))
        if let next { route(to: next) }
    }

    /// The terminal to switch to now; nil: none is prepared for this link, or another switch is already under way.
    @_noLocks
    private func preparedSwitch(from terminal: TerminalPointer) -> UInt32? {
        // Without room for this report and that of the switch, the control side would not know of it.
        guard let standIn, standIn.link == terminal.pointee.id, same(terminal, master), pending == nil,
            hasRoomForEvent(2), let next = terminals.find(standIn.terminal), !next.pointee.isFailed,
            !next.pointee.isRemoving
        else { return nil }
        return standIn.terminal
    }
}
