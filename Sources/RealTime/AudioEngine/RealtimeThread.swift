import AudioDSP
import CBTCall
import Glibc
import RealTimeStorage

typealias TerminalPointer = UnsafeMutablePointer<Terminal>
typealias LinkPointer = UnsafeMutablePointer<LinkPort>
typealias PathPointer = UnsafeMutablePointer<PathPort>
typealias CallPointer = UnsafeMutablePointer<CallPort>
typealias InjectionPointer = UnsafeMutablePointer<InjectionPort>
typealias CapturePointer = UnsafeMutablePointer<CapturePort>
typealias ManualPointer = UnsafeMutablePointer<ManualPort>
typealias TapPointer = UnsafeMutablePointer<TapPort>

/// The thread side of the engine: all state of the real-time thread.
///
/// One `ppoll` waits for commands, for the descriptors of each terminal and call, and for the next deadline. The routed
/// terminal is the clock: when it has captured 10 ms, `tick` exchanges one block with every active call. Nothing here
/// allocates, locks or counts references; storage arrives by pointers in commands and leaves in events.
struct RealtimeThread: ~Copyable {
    static var maximumTerminals: Int { @_noLocks get { 8 } }
    static var maximumCalls: Int { @_noLocks get { 8 } }
    static var maximumInjections: Int { @_noLocks get { 8 } }
    static var maximumCaptures: Int { @_noLocks get { 4 } }
    static var maximumTaps: Int { @_noLocks get { 8 } }
    static var maximumPlaybacks: Int { @_noLocks get { 16 } }
    static var maximumPCMs: Int { @_noLocks get { 32 } }
    static var maximumPolls: Int {
        @_noLocks get {
            1 + (maximumTerminals + maximumCaptures) * PathPort.maximumDescriptors + maximumTerminals + maximumCalls
                + maximumInjections
                + maximumTaps + 2 + maximumPlaybacks
        }
    }
    static var tickNanoseconds: Int64 { @_noLocks get { 10_000_000 } }
    static var lateLimit: Int64 { @_noLocks get { 20_000_000 } }
    /// Time for a terminal to fade out and to play its queue, beside its card's queue.
    static var drainLimit: Int64 { @_noLocks get { 45_000_000 } }
    /// Maximum time that the clock waits, once, for providers that are behind after a stall.
    static var holdLimit: Int64 { @_noLocks get { 20_000_000 } }
    /// Time after which a path that does not deliver is switched to anyway: it can at least play.
    static var readyLimit: Int64 { @_noLocks get { 100_000_000 } }

    let commands: UnsafeMutablePointer<MessageQueue<Command>>
    let events: UnsafeMutablePointer<MessageQueue<Event>>
    let counters: UnsafeMutablePointer<ThreadCounters>
    let commandDescriptor: Int32
    let eventDescriptor: Int32
    var primeBlocks: Int
    /// The queues of calls that start follow their providers' lateness.
    var adaptsQueue: Bool
    let downlinkLimitBlocks: Int
    let fallbackAfter: Int64
    /// Rates of the bus, and the index of the present one.
    let bus: BusRates
    var busIndex = 0
    var busRate: Int
    /// Frames of the bus in a tick.
    var tickFrames: Int
    /// Index of the coming rate, which every converter prepares for; -1 for none. Ticks since then.
    var comingBus = -1
    var comingTicks = 0
    /// The rate has changed at the beginning of this tick.
    var hasChangedBus = false

    var terminals = Slots<Terminal>(capacity: Self.maximumTerminals)
    var calls = Slots<CallPort>(capacity: Self.maximumCalls)
    var injections = Slots<InjectionPort>(capacity: Self.maximumInjections)
    var captures = Slots<CapturePort>(capacity: Self.maximumCaptures)
    var taps = Slots<TapPort>(capacity: Self.maximumTaps)
    /// Application that replaces the device.
    var manual: ManualPointer?
    var playbacks = Slots<PlaybackPort>(capacity: Self.maximumPlaybacks)
    /// Running streams of the ALSA PCM of calls, and the call whose audio they are.
    var pcms = Slots<PCMPort>(capacity: Self.maximumPCMs)
    var pcmCall: UInt32?
    /// Gains of the two directions of the PCM's audio.
    var pcmHearing: Gain
    var pcmSpeaking: Gain
    let polls: UnsafeMutablePointer<pollfd>
    var pollCount = 0

    /// The routed terminal, which is the clock; nil: a timer is.
    var master: TerminalPointer?
    /// The previous terminal while it fades out.
    var fading: TerminalPointer?
    /// The terminal to switch to as soon as it is ready.
    var pending: TerminalPointer?
    var pendingSince: Int64 = 0
    var crossFade: CrossFade
    /// The downlink half of the coming tick has been made, because a link's queue was shorter than a packet.
    var isAhead = false
    /// The calls' device has died without a successor yet: the far end's audio is kept for the next one.
    var isBereft = false
    /// The terminal to switch to at once if a link falls silent.
    var standIn: StandIn?
    /// The new device's playback began with its initial queue: its blocks are not faded in, but for the rest of this fade.
    var continuesLead = false
    var leadFade: CrossFade
    /// Gate of the microphone, before anything is added to it.
    var microphoneGate: Gain
    /// The microphone is reported as live although its gate is closed.
    var showsMutedMicrophone = false
    var microphoneGain: Gain
    /// Gain of applications' audio.
    var applicationGain: Gain
    /// Gate of the whole uplink.
    var muting: Gain
    /// Gain of the calls' audio while the user hears something else with it.
    var farEndGain: Gain
    /// Consecutive ticks in which the calls were louder than line noise.
    var loudTicks = 0
    /// Noise towards the far end, as loud as the room.
    var noise: ComfortNoise
    /// Delays the audio of a link that is a talk key, from its first packet on.
    var preroll: Preroll
    /// Noise towards the user, where a provider delivers nothing.
    var lineNoise: ComfortNoise
    /// What the user hears at first where a block is missing: the call that misses it, and the blocks made so far. One
    /// concealment for each rate of the bus.
    var gap = Gap()
    let concealments: UnsafeMutablePointer<PacketLossConcealment>
    /// Latest audio of the far end, for the device that follows a dead one.
    var history: DownlinkHistory
    /// Processing of the microphone before its volume.
    var voice: VoiceState

    var now: Int64
    var lastTick: Int64
    /// Until when somebody has heard the far end.
    var heardUntil: Int64
    /// Silence of links is not judged before this time: the thread itself was late.
    var grace: Int64 = 0
    /// Since when the clock has been waiting for providers, and until when at most; 0: it is not waiting.
    var heldSince: Int64 = 0
    var holdEnd: Int64 = 0
    /// Before the next tick the clock has looked whether it has to wait for providers, and has waited.
    var couldWait = false
    var hasWaited = false
    var missedDeadlines = 0
    var missedReport: Int64 = 0
    var lostEvents = 0
    /// Last reported state, and whether samples of a microphone have gone to a call since.
    var isMicrophoneLive = false
    var hasSentMicrophone = false
    /// The event queue had no room for the report.
    var isMicrophoneUntold = false
    var mustSignal = false
    var isStopping = false
    /// Levels are measured, because somebody requests them.
    var isMetering = false
    var heardMeter = LevelMeter()
    var saidMeter = LevelMeter()

    /// The blocks hold nothing but doubled audio (see `Resampler`): a device or call of half the bus's rate gets the samples
    /// of the other end as they were. Any other audio in a block clears it.
    var isDownlinkDoubled = false
    var isUplinkDoubled = false
    let downlink: UnsafeMutablePointer<Int16>
    let uplink: UnsafeMutablePointer<Int16>
    let scratch: UnsafeMutablePointer<Int16>
    let injected: UnsafeMutablePointer<Int16>
    /// Output of a terminal that plays alone.
    let alone: UnsafeMutablePointer<Int16>
    /// Audio of the calls for listening terminals.
    let heard: UnsafeMutablePointer<Int16>
    /// Initial samples for a new device, half a second of the bus.
    let lead: UnsafeMutablePointer<Int16>

    /// The control side provides the memory and keeps it after the thread has ended.
    init(
        _ configuration: AudioEngineConfiguration, commands: UnsafeMutablePointer<MessageQueue<Command>>,
        events: UnsafeMutablePointer<MessageQueue<Event>>, counters: UnsafeMutablePointer<ThreadCounters>,
        commandDescriptor: Int32, eventDescriptor: Int32
    ) {
        self.commands = commands
        self.events = events
        self.counters = counters
        self.commandDescriptor = commandDescriptor
        self.eventDescriptor = eventDescriptor
        primeBlocks = min(max(configuration.primeBlocks, 0), CallPort.ringBlocks / 2)
        adaptsQueue = configuration.adaptsQueue
        downlinkLimitBlocks = min(max(configuration.downlinkLimitBlocks, 1), CallPort.ringBlocks / 2)
        fallbackAfter = configuration.fallbackAfter.wholeNanoseconds
        bus = configuration.bus
        busRate = bus.lowest
        tickFrames = busRate / 100
        counters.pointee.busRate.set(busRate)
        let most = bus.highest / 100
        polls = .allocate(capacity: Self.maximumPolls)
        polls.initialize(repeating: pollfd(), count: Self.maximumPolls)
        downlink = .allocate(capacity: most)
        downlink.initialize(repeating: 0, count: most)
        uplink = .allocate(capacity: most)
        uplink.initialize(repeating: 0, count: most)
        scratch = .allocate(capacity: most)
        scratch.initialize(repeating: 0, count: most)
        injected = .allocate(capacity: most)
        injected.initialize(repeating: 0, count: most)
        alone = .allocate(capacity: most)
        alone.initialize(repeating: 0, count: most)
        heard = .allocate(capacity: most)
        heard.initialize(repeating: 0, count: most)
        farEndGain = Gain(rate: busRate)
        crossFade = CrossFade(rate: busRate, milliseconds: 20)
        leadFade = CrossFade(rate: busRate, milliseconds: 5)
        // Twice as fast as other changes: done within one tick.
        muting = Gain(rate: busRate / 2)
        microphoneGate = Gain(rate: busRate / 2)
        microphoneGain = Gain(rate: busRate)
        pcmHearing = Gain(rate: busRate)
        pcmSpeaking = Gain(rate: busRate)
        applicationGain = Gain(rate: busRate)
        noise = ComfortNoise(rate: busRate)
        preroll = Preroll(bus: bus)
        lineNoise = ComfortNoise(rate: busRate)
        concealments = .allocate(capacity: bus.count)
        for index in 0..<bus.count {
            (concealments + index).initialize(to: PacketLossConcealment(rate: bus.rate(index)))
        }
        history = DownlinkHistory(bus: bus)
        voice = VoiceState(rate: busRate)
        lead = .allocate(capacity: bus.highest / 2)
        lead.initialize(repeating: 0, count: bus.highest / 2)
        now = btcall_monotonic_nanoseconds()
        lastTick = now
        heardUntil = now
    }

    deinit {
        polls.deallocate()
        downlink.deallocate()
        uplink.deallocate()
        scratch.deallocate()
        injected.deallocate()
        alone.deallocate()
        heard.deallocate()
        lead.deallocate()
        concealments.deinitialize(count: bus.count).deallocate()
    }

    /// The body of the thread; returns after a `stop` command.
    @_noLocks
    mutating func run() {
        // The time until the thread was started was not spent working.
        now = btcall_monotonic_nanoseconds()
        while !isStopping { step() }
        stopPaths()
    }

    /// Waits once and handles what is due.
    @_noLocks
    mutating func step() {
        let deadline = nextDeadline()
        preparePolls()
        // One reading of the clock ends the work since the last wake-up, and says how long to sleep.
        let rested = btcall_monotonic_nanoseconds()
        counters.pointee.busyNanoseconds.add(Int(rested &- now))
        var timeout: Int64 = -1
        if deadline != Int64.max {
            timeout = deadline &- rested
            if timeout < 0 { timeout = 0 }
        }
        let ready = btcall_poll(polls, UInt32(pollCount), timeout)
        now = btcall_monotonic_nanoseconds()
        noteLateness(deadline)
        if ready > 0 && polls[0].revents != 0 {
            btcall_eventfd_clear(commandDescriptor)
            catchUpStreams()
            handleCommands()
        }
        servicePolledCalls()
        if ready > 0 {
            serviceTerminals()
            serviceInjections()
            serviceCaptures()
            serviceManual()
            serviceTaps()
            servicePlaybacks()
        }
        endHold()
        serviceTimers()
        cutIfReady()
        finishEndings()
        goOnForgetting()
        endInjections()
        finishCaptures()
        noteMicrophone()
        endManual()
        endTaps()
        endPlaybacks()
        reportMissedDeadlines()
        if mustSignal {
            mustSignal = false
            btcall_eventfd_signal(eventDescriptor)
        }
        counters.pointee.wakeUps.add(1)
    }

    @_noLocks
    private func nextDeadline() -> Int64 {
        var result = Int64.max
        if isTimerClock() { result = lastTick &+ Self.tickNanoseconds }
        if heldSince != 0 { result = min64(result, holdEnd) }
        result = min64(result, captureDeadline())
        if isMicrophoneUntold { result = min64(result, now &+ Self.tickNanoseconds) }
        for terminal in terminals.all where !isWaitingForProviders(terminal) {
            result = min64(result, deadline(of: terminal))
        }
        for call in calls.all {
            result = min64(result, call.pointee.deadline(now: now))
        }
        if isForgetting() { result = min64(result, now &+ Self.tickNanoseconds) }
        return result
    }

    /// Whether the system clock makes the ticks: nothing is routed, but a call is up or a terminal has to fade out.
    @_noLocks
    func isTimerClock() -> Bool {
        if master != nil { return false }
        return fading != nil || hasClockedCall()
    }

    @_noLocks
    private mutating func preparePolls() {
        polls[0] = pollfd(fd: commandDescriptor, events: Int16(POLLIN), revents: 0)
        var count = 1
        for terminal in terminals.all {
            terminal.pointee.pollIndex = count
            terminal.pointee.pollCount = 0
            if isWaitingForProviders(terminal) {
                // Its packets wait in the socket: do not let them wake the thread.
            } else if let link = terminal.pointee.link, !terminal.pointee.isFailed {
                polls[count] = pollfd(fd: link.pointee.descriptor, events: Int16(POLLIN), revents: 0)
                terminal.pointee.pollCount = 1
            } else if let path = terminal.pointee.path, path.pointee.isStarted,
                let capture = path.pointee.capture, !capture.pointee.isUnclocked
            {
                var each = 0
                while each < capture.pointee.descriptorCount {
                    polls[count + each] = capture.pointee.descriptors[each]
                    polls[count + each].revents = 0
                    each += 1
                }
                terminal.pointee.pollCount = each
            }
            count += terminal.pointee.pollCount
            terminal.pointee.streamPoll = -1
            if let stream = terminal.pointee.stream, mustPoll(stream, of: terminal) {
                preparePoll(of: stream, at: count)
                terminal.pointee.streamPoll = count
                count += 1
            }
        }
        for call in calls.all {
            call.pointee.pollIndex = count
            let isRead = !call.pointee.isResting && (call.pointee.isTimed || heldSince != 0)
            polls[count] = pollfd(fd: call.pointee.descriptor, events: isRead ? Int16(POLLIN) : 0, revents: 0)
            count += 1
        }
        count = preparePollsOfInjections(count)
        count = preparePollsOfCaptures(count)
        count = preparePollsOfManual(count)
        count = preparePollsOfTaps(count)
        pollCount = preparePollsOfPlaybacks(count)
    }

    /// Prevents a thread that wakes late from blaming the radio for the silence.
    @_noLocks
    private mutating func noteLateness(_ deadline: Int64) {
        if deadline == Int64.max { return }
        let late = now &- deadline
        if late < 5_000_000 { return }
        grace = now &+ min64(late, 50_000_000)
        if Int(late / 1000) > counters.pointee.worstLateMicroseconds.read() {
            counters.pointee.worstLateMicroseconds.set(Int(late / 1000))
        }
        if late < Self.lateLimit { return }
        counters.pointee.lateWakeUps.add(1)
        missedDeadlines += 1
    }

    @_noLocks
    private mutating func reportMissedDeadlines() {
        if lostEvents > 0 {
            let lost = lostEvents
            lostEvents = 0
            report(.eventsLost(count: lost))
        }
        if missedDeadlines == 0 || now < missedReport { return }
        report(.deadlineMissed(count: missedDeadlines))
        missedDeadlines = 0
        missedReport = now &+ 1_000_000_000
    }

    /// Reports an event without storage.
    @_noLocks
    func hasRoomForEvent(_ count: Int = 1) -> Bool { events.pointee.free() >= 63 &+ count }

    /// Queues an event; part of the queue is reserved for events that carry storage.
    @_noLocks
    mutating func report(_ event: Event) {
        mustSignal = true
        if !event.carriesStorage && !hasRoomForEvent() {
            lostEvents += 1
            return
        }
        if !events.pointee.push(event) { lostEvents += 1 }
    }

    @_noLocks
    mutating func report(_ fact: AudioEngineEvent) { report(Event.happened(fact)) }
}

@_noLocks
func min64(_ left: Int64, _ right: Int64) -> Int64 { left < right ? left : right }

extension Duration {
    /// Nanoseconds, at most 292 years.
    var wholeNanoseconds: Int64 {
        let (seconds, attoseconds) = components
        let (whole, overflow) = seconds.multipliedReportingOverflow(by: 1_000_000_000)
        return overflow ? .max : whole &+ attoseconds / 1_000_000_000
    }
}

extension RealtimeThread {
    /// Control side, after the thread has ended: passes on held storage as the missing events would have.
    mutating func releaseAll(_ handle: (Event) -> Void) {
        captures.removeAll { handle(.captureRemoved($0)) }
        terminals.removeAll { handle(.terminalRemoved($0)) }
        calls.removeAll { handle(.callReleased($0)) }
        injections.removeAll { handle(.injectionEnded($0)) }
        if let manual { handle(.manualEnded(manual)) }
        manual = nil
        taps.removeAll { handle(.tapEnded($0)) }
        playbacks.removeAll { handle(.playbackEnded($0)) }
        pcms.removeAll { handle(.pcmRemoved($0)) }
        if let port = voice.port { handle(.voiceReturned(port)) }
        if let port = voice.next { handle(.voiceReturned(port)) }
        voice.port = nil
        voice.next = nil
    }
}
