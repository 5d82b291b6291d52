/// The last half second of what the far end said: signed 16 bit, mono, at the rate of the bus.
///
/// When a headset dies, what was given to it since its last sign of life has not been heard by anybody. The next device
/// begins with the latest part of it in the queue that it would otherwise fill with silence, so that the person hears
/// the far end sooner, and the words go on without a jump. Belongs to the audio thread.
package struct DownlinkHistory: ~Copyable {
    /// Frames of the latest samples that have not been heard, at most as many as are kept.
    package private(set) var unheardFrames = 0
    private var ring: SampleRing

    /// - Parameter rate: frames per second of the bus.
    package init(rate: Int) {
        ring = SampleRing(capacity: rate / 2)
    }

    /// Appends a block that was given to a device.
    ///
    /// - Parameter unheard: frames of the latest samples, with these, that nobody has heard, if it is known how many;
    ///   negative: these and those before that have not been heard either.
    @_noLocks
    package mutating func append(_ block: UnsafePointer<Int16>, _ frames: Int, unheard: Int) {
        let surplus = frames - ring.free
        if surplus > 0 { _ = ring.discard(surplus) }
        _ = ring.write(block, frames)
        unheardFrames = unheard < 0 ? unheardFrames + frames : unheard
        if unheardFrames > ring.available { unheardFrames = ring.available }
    }

    /// Copies the latest `count` frames that have not been heard, or as many as there are, and counts them as heard.
    @_noLocks
    package mutating func takeUnheard(_ output: UnsafeMutablePointer<Int16>, _ count: Int) -> Int {
        let wanted = count < unheardFrames ? count : unheardFrames
        unheardFrames = 0
        return ring.peek(output, wanted, offset: ring.available - wanted)
    }

    /// What was said does not belong to what comes: another call.
    @_noLocks
    package mutating func forget() {
        let frames = ring.available
        _ = ring.discard(frames)
        unheardFrames = 0
    }
}
