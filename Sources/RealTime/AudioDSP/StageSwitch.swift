/// Controls when a stage runs, restarts and is heard.
struct StageSwitch: Sendable {
    private(set) var isOn: Bool
    var weight: Weight
    private var mustReset = false
    /// Blocks that a stage runs before it is heard.
    private var settling = 0
    /// The libraries hold 112 frames at 8 kHz.
    private static var settlingBlocks: Int { @_noLocks get { 2 } }

    init(rate: Int, isOn: Bool) {
        self.isOn = isOn
        weight = Weight(rate: rate, isOn: isOn)
        mustReset = !isOn
    }

    @_noLocks
    mutating func set(_ isOn: Bool) { self.isOn = isOn }

    /// Requests a restart as soon as the stage is not heard.
    @_noLocks
    mutating func reset() { mustReset = true }

    /// Decides about the next block, and updates the weight for it.
    @_noLocks
    mutating func next() -> (runs: Bool, resets: Bool) {
        var resets = false
        if isOn && mustReset && weight.value == 0 {
            resets = true
            mustReset = false
            settling = Self.settlingBlocks
        }
        if isOn && !mustReset {
            if settling > 0 {
                settling &-= 1
            } else {
                weight.set(true)
            }
            return (true, resets)
        }
        // A stage that has not run has outdated state.
        if !isOn { mustReset = true }
        weight.set(false)
        return (weight.value > 0, resets)
    }
}
