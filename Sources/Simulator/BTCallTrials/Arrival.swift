/// A packet of a voice link as the audio thread receives it.
package struct Arrival: Equatable, Sendable {
    /// Nanoseconds since the link was opened.
    package var time: Int64
    /// The controller's packet status, 0 for correctly received.
    package var status: Int32
    /// The thread slept until this time, and could not find the link silent meanwhile.
    package var isAfterStall: Bool

    package init(time: Int64, status: Int32 = 0, isAfterStall: Bool = false) {
        self.time = time
        self.status = status
        self.isAfterStall = isAfterStall
    }
}
