import CBTCall

/// Processes a microphone for the far end: removes hum, echo and noise, and levels speech.
///
/// High pass, echo canceller, noise suppressor and automatic gain, each of which can be switched at any time without a
/// click; a disabled stage costs little, and the delay is constant at one rate of the bus. The libraries run at 16 kHz (8 kHz
/// on a bus of 8 kHz), also while the bus changes its rate, so that they keep what they have learnt.
/// Higher frequencies of a faster stream bypass them, and are lowered as much as the libraries lower the upper end of
/// theirs, because they contain echo and noise, too.
///
/// Created on the control thread, then used by the real-time thread only: no call allocates, locks or waits.
package struct VoiceProcessor: ~Copyable {
    package let kind: VoiceProcessingKind
    /// Sample rate in Hz.
    package private(set) var rate: Int
    /// Constant delay of the output, also when bypassed.
    package private(set) var delayFrames: Int
    package private(set) var stages: VoiceStages
    package private(set) var isBypassed = false

    /// Somebody speaks into the microphone, near it. Valid also when bypassed. The loudspeaker's sound does not count as far
    /// as the echo canceller removes it: with `webrtc`; not with `none`, and not while that stage is off.
    package var isSpeaking: Bool {
        @_noLocks get { detector.isSpeaking }
    }

    /// Longest supported echo delay in milliseconds; longer ones are treated as this one.
    package static let longestFarDelay = 500
    /// Delay at which the libraries run, in milliseconds: webrtc finds an echo from 35 earlier to 80 later.
    private static var nominalDelay: Int { @_noLocks get { 40 } }
    /// Blocks for which the far end still counts as loud afterwards.
    private static var farHold: Int { @_noLocks get { 30 } }
    /// -60 dB, as a mean square.
    private static var farQuiet: Float { @_noLocks get { 1_074 } }
    /// Audio that lost 12 dB in the echo canceller was echo.
    private static var echoLoss: Float { @_noLocks get { 16 } }

    private let bus: BusRates
    private var frames: Int
    /// Frames in a library's block, and frames of the bus for each of those.
    private let coreFrames: Int
    private var factor: Int
    /// Delay of the libraries, in frames of theirs.
    private let coreDelay: Int

    private var library: VoiceLibrary
    private var highPass: HighPass
    private var detector: SpeechDetector
    private var gain: AutomaticGain
    private var highPassWeight: Weight
    private var echo: StageSwitch
    private var noise: StageSwitch
    private var processed: Weight

    // At the libraries' rate.
    private var farLine: SampleDelay
    private var echoLine: SampleDelay
    private var noiseLine: SampleDelay
    private var dryLine: SampleDelay
    private var farHeld = 0
    /// Blocks with a loud far end until the echo canceller is reliable.
    private var newBlocks = 100
    private static var blocksToLearn: Int { @_noLocks get { 100 } }
    private var lateEnergy: Float = 0

    // Between the libraries' rate and the bus, where they differ.
    private var nearDown: FromBus
    private var farDown: FromBus
    private var up: ToBus
    /// Delayed like the libraries' audio before and after upsampling.
    private var highLine: SampleDelay
    private var upLine: SampleDelay
    private var dryBusLine: SampleDelay
    private var highGain: Float = 1

    // Buffers between the steps.
    private let narrow: UnsafeMutablePointer<Int16>
    private let wide: UnsafeMutablePointer<Int16>
    private let far: UnsafeMutablePointer<Float>
    private let raw: UnsafeMutablePointer<Float>
    private let near: UnsafeMutablePointer<Float>
    private let late: UnsafeMutablePointer<Float>
    private let made: UnsafeMutablePointer<Float>
    private let core: UnsafeMutablePointer<Float>
    private let dry: UnsafeMutablePointer<Float>
    private let high: UnsafeMutablePointer<Float>
    private let result: UnsafeMutablePointer<Float>
    private let memory: UnsafeMutablePointer<Float>

    /// - Parameters:
    ///   - kind: which echo canceller.
    ///   - rate: of both directions, in Hz: 8000, 16000, 32000 or 48000.
    ///   - farDelayMilliseconds: see ``reset(farDelayMilliseconds:)``.
    package init(
        _ kind: VoiceProcessingKind, rate: Int, stages: VoiceStages = .all, farDelayMilliseconds: Int = 40
    ) throws(VoiceProcessorError) {
        try self.init(kind, bus: BusRates(rate), stages: stages, farDelayMilliseconds: farDelayMilliseconds)
    }

    /// Begins at the lowest rate of the bus; all its rates are 8000, 16000, 32000 or 48000 Hz.
    package init(
        _ kind: VoiceProcessingKind, bus: BusRates, stages: VoiceStages = .all, farDelayMilliseconds: Int = 40
    ) throws(VoiceProcessorError) {
        for index in 0..<bus.count where ![8_000, 16_000, 32_000, 48_000].contains(bus.rate(index)) {
            throw .unsupportedRate(bus.rate(index))
        }
        let rate = bus.lowest
        let coreRate = min(rate, 16_000)
        let library = try VoiceLibrary(kind, rate: coreRate)
        let coreDelay = library.echoDelay + library.noiseDelay
        self.kind = kind
        self.bus = bus
        self.rate = rate
        self.stages = stages
        self.coreDelay = coreDelay
        frames = rate / 100
        coreFrames = coreRate / 100
        factor = rate / coreRate
        let nearDown = FromBus(to: coreRate, bus: bus)
        let up = ToBus(from: coreRate, bus: bus)
        let beforeUp = (nearDown.delayFrames + coreDelay) * (rate / coreRate)
        let upDelay = up.delayFrames
        // The two conversions take less than 10 ms together.
        let longest = (coreDelay + coreRate / 100) * bus.highest / coreRate
        delayFrames = beforeUp + upDelay
        highLine = SampleDelay(beforeUp, maximum: longest)
        upLine = SampleDelay(upDelay, maximum: longest)
        dryBusLine = SampleDelay(beforeUp + upDelay, maximum: longest)
        self.nearDown = nearDown
        farDown = FromBus(to: coreRate, bus: bus)
        self.up = up
        farLine = SampleDelay(
            Self.kept(farDelayMilliseconds) * coreRate / 1000, maximum: Self.longestFarDelay * coreRate / 1000)
        echoLine = SampleDelay(library.echoDelay)
        noiseLine = SampleDelay(library.noiseDelay)
        dryLine = SampleDelay(coreDelay)
        echo = StageSwitch(rate: coreRate, isOn: stages.contains(.echoCancellation))
        noise = StageSwitch(
            rate: coreRate,
            isOn: stages.contains(.noiseSuppression)
                || (library.finishesEchoWithNoise && stages.contains(.echoCancellation)))
        self.library = library
        highPass = HighPass(rate: coreRate)
        highPassWeight = Weight(rate: coreRate, isOn: stages.contains(.highPass))
        detector = SpeechDetector(rate: coreRate)
        gain = AutomaticGain(rate: rate)
        processed = Weight(rate: rate, isOn: true)
        narrow = .allocate(capacity: coreFrames)
        narrow.initialize(repeating: 0, count: coreFrames)
        let most = bus.highest / 100
        wide = .allocate(capacity: most)
        wide.initialize(repeating: 0, count: most)
        memory = .allocate(capacity: 9 * most)
        memory.initialize(repeating: 0, count: 9 * most)
        far = memory
        raw = memory + most
        near = memory + 2 * most
        late = memory + 3 * most
        made = memory + 4 * most
        core = memory + 5 * most
        dry = memory + 6 * most
        high = memory + 7 * most
        result = memory + 8 * most
    }

    deinit {
        narrow.deallocate()
        wide.deallocate()
        memory.deallocate()
    }

    // MARK: Switches

    /// Enables exactly these stages; each fades in or out within 20 ms.
    @_noLocks
    package mutating func setStages(_ stages: VoiceStages) {
        self.stages = stages
        let takesEcho = stages.has(.echoCancellation)
        highPassWeight.set(stages.has(.highPass))
        echo.set(takesEcho)
        noise.set(stages.has(.noiseSuppression) || (library.finishesEchoWithNoise && takesEcho))
    }

    /// Passes the microphone unprocessed at unchanged delay, while everything keeps adapting.
    @_noLocks
    package mutating func setBypassed(_ isBypassed: Bool) {
        self.isBypassed = isBypassed
        processed.set(!isBypassed)
    }

    /// Forgets the echo path, the noise and the speech level, but not the gain, for another loudspeaker, microphone or room.
    ///
    /// - Parameter farDelayMilliseconds: from passing a block as the far end until its echo returns, as far as known from
    ///   both sound cards' buffers and the air, 0 to 500. An error of 30 ms less or 80 ms more does no harm.
    @_noLocks
    package mutating func reset(farDelayMilliseconds: Int) {
        setFarDelay(milliseconds: farDelayMilliseconds)
        echo.reset()
        noise.reset()
        detector.forgetRoom()
        gain.forgetLevel()
    }

    /// As `reset(farDelayMilliseconds:)` for a processor that has not heard anything yet: there is nothing to forget.
    @_noLocks
    package mutating func setFarDelay(milliseconds: Int) {
        farLine.set(Self.kept(milliseconds) &* coreFrames / 10)
    }

    /// Part of the far delay compensated before the library, in milliseconds.
    @_noLocks
    private static func kept(_ milliseconds: Int) -> Int {
        let most = milliseconds < longest ? milliseconds : longest
        return most > nominalDelay ? most &- nominalDelay : 0
    }

    private static var longest: Int { @_noLocks get { 500 } }

    /// Continues at another rate of the bus. The output of the next `delayFrames` frames is not to be heard.
    @_noLocks
    package mutating func setBus(_ index: Int) {
        let next = bus.rate(bus.bounded(index))
        if next == rate { return }
        rate = next
        frames = next / 100
        factor = frames / coreFrames
        nearDown.set(index)
        farDown.set(index)
        up.set(index)
        let beforeUp = (nearDown.delayFrames &+ coreDelay) &* factor
        delayFrames = beforeUp &+ up.delayFrames
        highLine.set(beforeUp)
        upLine.set(up.delayFrames)
        dryBusLine.set(delayFrames)
        gain.setRate(next)
        processed.setRate(next)
    }

    // MARK: Audio

    /// Processes 10 ms of the microphone in place.
    ///
    /// - Parameters:
    ///   - samples: `rate` / 100 frames.
    ///   - far: as many frames, given to the loudspeaker at the same time; silence if none are.
    @_noLocks
    package mutating func process(_ samples: UnsafeMutablePointer<Int16>, far farSamples: UnsafePointer<Int16>) {
        convertFar(farSamples)
        convertNear(samples)
        cancelEcho()
        suppressNoise()
        dryLine.process(raw, into: dry, coreFrames)
        detector.listen(core, isEcho: echoLeft())
        if factor == 1 {
            btcall_move(result, core, frames &* 4)
        } else {
            widen(samples)
        }
        // With echo in it, the level is not the near end's.
        let isSpeech = detector.isSpeaking && detector.isLoud && !isFarLoud
        gain.process(result, isOn: stages.has(.automaticGain), isSpeech: isSpeech)
        processed.blend(dry, result, into: result, frames)
        VoiceSamples.round(result, into: samples, frames)
    }

    @_noLocks
    private mutating func convertFar(_ samples: UnsafePointer<Int16>) {
        if factor == 1 {
            VoiceSamples.widen(samples, into: far, coreFrames)
        } else {
            _ = farDown.process(samples, frames, narrow, coreFrames)
            VoiceSamples.widen(narrow, into: far, coreFrames)
        }
        farLine.process(far, into: far, coreFrames)
        let power = btcall_inner_product(far, far, coreFrames) / Float(coreFrames)
        if power > Self.farQuiet {
            farHeld = Self.farHold
        } else if farHeld > 0 {
            farHeld &-= 1
        }
    }

    @_noLocks
    private mutating func convertNear(_ samples: UnsafePointer<Int16>) {
        if factor == 1 {
            VoiceSamples.widen(samples, into: raw, coreFrames)
        } else {
            _ = nearDown.process(samples, frames, narrow, coreFrames)
            VoiceSamples.widen(narrow, into: raw, coreFrames)
        }
        highPass.process(raw, into: near, coreFrames)
        highPassWeight.blend(raw, near, into: near, coreFrames)
    }

    /// From `near` to `core`; `late` becomes `near` at the same delay.
    @_noLocks
    private mutating func cancelEcho() {
        echoLine.process(near, into: late, coreFrames)
        let step = echo.next()
        if step.resets {
            library.resetEcho()
            newBlocks = Self.blocksToLearn
        }
        if step.runs {
            library.cancel(far, near, into: made)
            echo.weight.blend(late, made, into: core, coreFrames)
        } else {
            btcall_move(core, late, coreFrames &* 4)
        }
    }

    /// From `core` to `core`; keeps `late`, overwrites `high`.
    @_noLocks
    private mutating func suppressNoise() {
        noiseLine.process(core, into: high, coreFrames)
        let step = noise.next()
        if step.resets { library.resetNoise() }
        if step.runs {
            library.suppress(
                near: near, core, into: made, echo: stages.has(.echoCancellation),
                noise: stages.has(.noiseSuppression))
            noise.weight.blend(high, made, into: core, coreFrames)
        } else {
            btcall_move(core, high, coreFrames &* 4)
        }
    }

    /// Whether the rest in `core` is mostly echo: the loudspeaker has just been loud, and most has been removed. Always true
    /// in the first second of a new echo path.
    @_noLocks
    private mutating func echoLeft() -> Bool {
        // The noise suppressor is up to a block later.
        let before = lateEnergy
        lateEnergy = btcall_inner_product(late, late, coreFrames)
        if !isFarLoud { return false }
        if newBlocks > 0 {
            newBlocks &-= 1
            return true
        }
        return btcall_inner_product(core, core, coreFrames) * Self.echoLoss
            < (before > lateEnergy ? before : lateEnergy)
    }

    /// Echo is to be expected.
    private var isFarLoud: Bool {
        @_noLocks get { farHeld > 0 && stages.has(.echoCancellation) }
    }

    /// Produces `result` and `dry` at the bus's rate from `core`, `dry` and the microphone.
    ///
    /// The part above the libraries' rate is the microphone minus the libraries' input, equally delayed. One conversion
    /// serves both: it upsamples the difference between the libraries' output and input, lowered like the high part.
    @_noLocks
    private mutating func widen(_ samples: UnsafePointer<Int16>) {
        let before = highGain
        followHighGain()
        let step = (highGain - before) / Float(frames)
        var index = 0
        while index < coreFrames {
            // Not by -=: the compiler crashes on that with the thread sanitizer.
            core[index] = core[index] - (before + step * Float(index &* factor)) * dry[index]
            index &+= 1
        }
        VoiceSamples.round(core, into: narrow, coreFrames)
        _ = up.process(narrow, coreFrames, wide, frames)
        VoiceSamples.widen(samples, into: dry, frames)
        highLine.process(dry, into: high, frames)
        index = 0
        while index < frames {
            high[index] = high[index] * (before + step * Float(index))
            index &+= 1
        }
        upLine.process(high, into: high, frames)
        index = 0
        while index < frames {
            result[index] = Float(wide[index]) + high[index]
            index &+= 1
        }
        dryBusLine.process(dry, into: dry, frames)
    }

    /// Factor by which the libraries lower the upper end of their input, by second differences; never more than 1.
    @_noLocks
    private mutating func followHighGain() {
        if echo.weight.isOff && noise.weight.isOff {
            highGain += 0.4 * (1 - highGain)
            if highGain > 0.999 { highGain = 1 }
            return
        }
        var (given, left): (Float, Float) = (1, 1)
        var index = 2
        while index < coreFrames {
            let was = dry[index] - 2 * dry[index &- 1] + dry[index &- 2]
            let became = core[index] - 2 * core[index &- 1] + core[index &- 2]
            given += was * was
            left += became * became
            index &+= 1
        }
        let wanted = left < given ? btcall_square_root(left / given) : 1
        highGain = wanted < highGain ? wanted : highGain + 0.4 * (wanted - highGain)
    }
}
