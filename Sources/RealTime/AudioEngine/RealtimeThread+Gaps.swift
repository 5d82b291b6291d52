import AudioDSP
import RealTimeStorage

/// A call whose block was missing, and the blocks that continue its wave since then.
struct Gap: BitwiseCopyable {
    var call: UInt32 = 0
    var blocks = 0
}

// What the user hears in place of blocks that an application has not sent in time.
extension RealtimeThread {
    /// Blocks that continue the voice; by then it is silent, and noise follows.
    private static var mostGapBlocks: Int { @_noLocks get { 6 } }

    /// Fills `scratch` in place of a call's missing block: continues the wave of the far end for 60 ms, then noise. The block
    /// itself is played when it arrives.
    @_noLocks
    mutating func fillGap(of call: CallPointer) {
        if gap.blocks == 0 && startsGap(call) {
            gap.call = call.pointee.id
            concealments[busIndex].lost(scratch, tickFrames)
            gap.blocks = 1
            return
        }
        if gap.blocks == 0 || gap.call != call.pointee.id || gap.blocks >= Self.mostGapBlocks {
            lineNoise.fill(scratch, tickFrames)
            return
        }
        concealments[busIndex].lost(scratch, tickFrames)
        gap.blocks &+= 1
    }

    /// The wave of the far end is heard in place of a missing block: the bus keeps its rate.
    var isFillingGap: Bool { @_noLocks get { gap.blocks > 0 && gap.blocks < Self.mostGapBlocks } }

    /// After a change of the bus's rate: lets the missing block fade in at the new rate, if it still comes. The wave has
    /// ended by then, so that the fade begins with silence.
    @_noLocks
    mutating func followBusInGap() {
        if gap.blocks == 0 { return }
        concealments[busIndex].reset()
        // Between ticks nobody needs this memory.
        concealments[busIndex].lost(scratch, tickFrames)
    }

    /// Fades from the continued wave to the block in `scratch`, which has arrived after all.
    @_noLocks
    mutating func endGap(of call: CallPointer) {
        if gap.blocks == 0 || gap.call != call.pointee.id { return }
        gap.blocks = 0
        concealments[busIndex].good(scratch, tickFrames)
        isDownlinkDoubled = false
    }

    /// Prepares the concealment with the latest audio; false when that is not the call's alone.
    @_noLocks
    private mutating func startsGap(_ call: CallPointer) -> Bool {
        if isManual || isPCMClocked || history.backlogFrames > 0 { return false }
        if calls.all.contains(where: { !same($0, call) && $0.pointee.isClocked }) { return false }
        // Between ticks nobody needs this memory.
        let frames = history.latest(lead, busRate / 20)
        if frames < tickFrames { return false }
        concealments[busIndex].reset()
        concealments[busIndex].good(lead, frames)
        return true
    }
}
