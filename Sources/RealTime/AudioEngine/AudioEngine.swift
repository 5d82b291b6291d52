import AudioDSP
import CBTCall
import Glibc
import RealTimeStorage

/// Moves audio between the calls and the routed device on a dedicated real-time thread (docs/inside/Audio.md).
///
/// This is the control side: it may allocate, and is used from one thread only. It creates storage, hands it over by
/// commands and receives it back by events. The caller names objects by its own numbers; an unknown number is ignored,
/// because the object may have ended in the meantime.
package final class AudioEngine: @unchecked Sendable {
    struct TerminalRecord {
        let counters: UnsafeMutablePointer<TerminalCounters>
        let isLink: Bool
        /// Playback sample rate of the device in Hz.
        let rate: Int
        let isFramed: Bool
    }

    struct CallRecord {
        let counters: UnsafeMutablePointer<CallCounters>
        let storage: CallPointer
    }

    /// Sample rates of calls and devices in Hz; each is converted to the rate of the internal mix.
    package static let rates = [8_000, 16_000, 24_000, 32_000, 44_100, 48_000]

    /// Readable when events are waiting; then call `takeEvents`. Owned by the engine.
    package let eventDescriptor: Int32
    /// SCHED_FIFO was granted. Without it the thread uses a longer queue, but audio may break up on a busy machine.
    package let isRealtime: Bool
    /// Fill level of sound cards' playback buffers, as far as they have room.
    package let playbackQueue: Duration
    package let isMemoryLocked: Bool

    let configuration: AudioEngineConfiguration
    private let commandDescriptor: Int32
    private let commands: UnsafeMutablePointer<MessageQueue<Command>>
    private let events: UnsafeMutablePointer<MessageQueue<Event>>
    let threadCounters: UnsafeMutablePointer<ThreadCounters>
    private let state: UnsafeMutablePointer<RealtimeThread>
    private var thread: btcall_realtime_thread
    private var isRunning = true
    /// The program's code has been prefaulted; an idle engine leaves code that it may never need out of memory.
    var isCodePresent = false
    var terminals: [UInt32: TerminalRecord] = [:]
    var calls: [UInt32: CallRecord] = [:]
    /// Calls whose storage the thread still holds, including detached ones.
    var heldCalls: [CallRecord] = []
    /// The thread's counters of each injection, by number.
    var injections: [UInt32: UnsafeMutablePointer<InjectionCounters>] = [:]
    /// Separately added capture streams whose storage the thread holds.
    var captures: Set<UInt32> = []
    /// Manual rendering and taps: AudioEngine+Applications.swift.
    var manual: ManualRecord?
    var taps: [UInt32: UnsafeMutablePointer<TapCounters>] = [:]
    /// Playbacks until their `playbackEnded`.
    var playbacks: [UInt32: PlaybackPointer] = [:]
    /// Running streams of the PCM of calls, and the memory of those whose storage the thread still holds.
    var pcms: [UInt32: PCMPointer] = [:]
    var heldPCMs: [PCMPointer: PCMMemory] = [:]

    /// Starts the real-time thread.
    package init(_ configuration: AudioEngineConfiguration = AudioEngineConfiguration()) throws(AudioEngineError) {
        for rate in [configuration.busRate] + configuration.higherBusRates
        where ![8_000, 16_000, 32_000, 48_000].contains(rate) {
            throw .unsupportedFormat(rate: rate, channels: 1)
        }
        self.configuration = configuration
        commandDescriptor = btcall_realtime_eventfd()
        guard commandDescriptor >= 0 else { throw .failed(call: "eventfd", code: -commandDescriptor) }
        eventDescriptor = btcall_realtime_eventfd()
        guard eventDescriptor >= 0 else {
            close(commandDescriptor)
            throw .failed(call: "eventfd", code: -eventDescriptor)
        }
        commands = .allocate(capacity: 1)
        commands.initialize(to: MessageQueue(capacity: 256))
        events = .allocate(capacity: 1)
        events.initialize(to: MessageQueue(capacity: 1_024))
        threadCounters = .allocate(capacity: 1)
        threadCounters.initialize(to: ThreadCounters())
        state = .allocate(capacity: 1)
        state.initialize(
            to: RealtimeThread(
                configuration, commands: commands, events: events, counters: threadCounters,
                commandDescriptor: commandDescriptor, eventDescriptor: eventDescriptor))
        isMemoryLocked = configuration.locksMemory && btcall_lock_memory() == 0
        var thread = btcall_realtime_thread()
        let code = btcall_realtime_thread_start(
            &thread, configuration.realtimePriority,
            { context in context.assumingMemoryBound(to: RealtimeThread.self).pointee.run() }, state)
        self.thread = thread
        isRealtime = thread.is_realtime != 0
        playbackQueue = isRealtime ? configuration.playbackQueue : configuration.playbackQueueWithoutPriority
        if code != 0 {
            isRunning = false
            throw .failed(call: "pthread_create", code: code)
        }
    }

    deinit {
        stop()
        close(commandDescriptor)
        close(eventDescriptor)
        commands.deinitialize(count: 1).deallocate()
        events.deinitialize(count: 1).deallocate()
        threadCounters.deinitialize(count: 1).deallocate()
        state.deinitialize(count: 1).deallocate()
    }

    /// Ends the thread and waits for it. Closes calls' descriptors; the owner of the terminals' handles may then close them.
    package func stop() {
        guard isRunning else { return }
        isRunning = false
        // The thread is alive, so a full queue empties within milliseconds.
        while !commands.pointee.push(.stop) { usleep(1_000) }
        btcall_eventfd_signal(commandDescriptor)
        btcall_realtime_thread_join(&thread)
        _ = takeEvents()
        state.pointee.releaseAll { _ = handle($0) }
        terminals.removeAll()
        calls.removeAll()
        heldCalls.removeAll()
        injections.removeAll()
        captures.removeAll()
        manual = nil
        taps.removeAll()
    }

    // MARK: Uplink

    /// Mutes what all calls are sent; digital silence within 20 ms.
    package func setMuting(_ muting: Muting) {
        _ = send(.mute(muting))
    }

    /// Sets the volume of the microphone towards all calls, for every device.
    ///
    /// - Parameter gain: linear, 0 is silence; reached by a short ramp.
    package func setMicrophoneVolume(_ gain: Float) { _ = send(.setMicrophoneVolume(gain)) }

    /// Sets the volume of injections towards all calls.
    ///
    /// - Parameter gain: linear, 0 is silence; reached by a short ramp.
    package func setApplicationVolume(_ gain: Float) { _ = send(.setApplicationVolume(gain)) }

    // MARK: Events and counters

    /// Returns all waiting events and frees the storage that the thread has released.
    package func takeEvents() -> [AudioEngineEvent] {
        btcall_eventfd_clear(eventDescriptor)
        var result: [AudioEngineEvent] = []
        while let event = events.pointee.pop() {
            if let told = handle(event) { result.append(told) }
        }
        return result
    }

    /// Counters of one terminal; nil if the number is unknown.
    package func counters(ofTerminal id: UInt32) -> EngineCounters.Terminal? {
        terminals[id].map { snapshot(id, $0) }
    }

    package func counters(ofCall id: UInt32) -> EngineCounters.Call? {
        calls[id].map { $0.counters.pointee.snapshot(id: id) }
    }

    private func snapshot(_ id: UInt32, _ record: TerminalRecord) -> EngineCounters.Terminal {
        var result = record.counters.pointee.snapshot(id: id, isLink: record.isLink)
        result.rate = record.rate
        result.isFramed = record.isFramed
        return result
    }

    package func counters() -> EngineCounters {
        var result = EngineCounters()
        result.terminals = terminals.sorted { $0.key < $1.key }.map { snapshot($0.key, $0.value) }
        result.calls = calls.sorted { $0.key < $1.key }.map { $0.value.counters.pointee.snapshot(id: $0.key) }
        result.injections = injections.sorted { $0.key < $1.key }.map { $0.value.pointee.snapshot(id: $0.key) }
        result.manual = manual?.snapshot()
        result.taps = taps.sorted { $0.key < $1.key }.map { $0.value.pointee.snapshot(id: $0.key) }
        result.ticks = threadCounters.pointee.ticks.read()
        result.busRate = threadCounters.pointee.busRate.read()
        result.wakeUps = threadCounters.pointee.wakeUps.read()
        result.lateWakeUps = threadCounters.pointee.lateWakeUps.read()
        result.worstLateMicroseconds = threadCounters.pointee.worstLateMicroseconds.read()
        result.busyNanoseconds = threadCounters.pointee.busyNanoseconds.read()
        return result
    }

    // MARK: Storage

    /// Frees returned storage and returns the event for the owner, if any.
    private func handle(_ event: Event) -> AudioEngineEvent? {
        switch event {
        case .happened(.callStarted(let id)): return calls[id] == nil ? nil : .callStarted(id)
        case .happened(let fact): return fact
        case .callClosed(let call, let code):
            let id = call.pointee.id
            // The owner has already detached it and perhaps reused the number: nothing to report.
            guard calls[id]?.storage == call else { return nil }
            calls[id] = nil
            return .callClosed(id, code: code)
        case .callReleased(let call):
            free(call: call)
            return nil
        case .pcmRemoved(let port):
            free(pcm: port)
            return nil
        case .terminalRemoved(let terminal):
            let id = terminal.pointee.id
            free(terminal: terminal)
            terminals[id] = nil
            return .terminalRemoved(id)
        case .captureRemoved(let capture):
            let id = capture.pointee.id
            free(capture: capture)
            captures.remove(id)
            return .captureRemoved(id)
        case .voiceReturned(let port):
            free(voice: port)
            return nil
        case .injectionEnded(let injection):
            let id = injection.pointee.id
            free(injection: injection)
            injections[id] = nil
            return .injectionEnded(id)
        case .manualEnded(let port):
            let id = port.pointee.id
            free(manual: port)
            return .manualEnded(id)
        case .tapEnded(let tap):
            let id = tap.pointee.id
            free(tap: tap)
            taps[id] = nil
            return .tapEnded(id)
        case .playbackEnded(let playback):
            let id = playback.pointee.id
            free(playback: playback)
            playbacks[id] = nil
            return .playbackEnded(id)
        }
    }

    func send(_ command: Command) -> Bool {
        guard isRunning, commands.pointee.push(command) else { return false }
        btcall_eventfd_signal(commandDescriptor)
        return true
    }

    func check(rate: Int, channels: Int) throws(AudioEngineError) {
        guard Self.rates.contains(rate), (1...2).contains(channels) else {
            throw .unsupportedFormat(rate: rate, channels: channels)
        }
    }
}
