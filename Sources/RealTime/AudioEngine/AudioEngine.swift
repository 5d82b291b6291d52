package import AudioDSP
import CBTCall
import Glibc
import RealTimeStorage

/// Moves the audio between calls and the device where the person is, on a real-time thread of its own (DESIGN.md
/// section 5).
///
/// This is the control face: it may allocate, and is used from one thread only. It makes storage, hands it over by
/// commands and takes it back by events. What it hands over is named by the caller's own numbers; an unknown number is
/// ignored, because the thing may have ended in the meantime.
package final class AudioEngine: @unchecked Sendable {
    private struct TerminalRecord {
        let counters: UnsafeMutablePointer<TerminalCounters>
        let isLink: Bool
        /// Frames per second of what the device plays.
        let rate: Int
        let isFramed: Bool
    }

    private struct CallRecord {
        let counters: UnsafeMutablePointer<CallCounters>
        let storage: CallPointer
    }

    /// The rates of calls and devices, in frames per second; each is converted to that of the internal mix.
    package static let rates = [8_000, 16_000, 24_000, 32_000, 44_100, 48_000]

    /// Readable when there are events; then call `takeEvents`. Owned by the engine.
    package let eventDescriptor: Int32
    /// SCHED_FIFO was granted. Without it the thread keeps going, with a longer queue, but a busy machine may be heard.
    package let isRealtime: Bool
    /// How full the playback buffers of sound cards are kept, as far as they have room.
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
    /// An idle engine leaves the code that it may never need out of memory.
    private var isCodePresent = false
    private var terminals: [UInt32: TerminalRecord] = [:]
    private var calls: [UInt32: CallRecord] = [:]
    /// Calls whose storage the thread still holds, with the detached ones.
    private var heldCalls: [CallRecord] = []
    /// By their numbers, what the thread counts of each.
    private var injections: [UInt32: UnsafeMutablePointer<InjectionCounters>] = [:]
    /// Capture streams by themselves whose storage the thread holds.
    private var captures: Set<UInt32> = []
    /// What applications do in place of a device, and copies of calls: AudioEngine+Applications.swift.
    var manual: ManualRecord?
    var taps: [UInt32: UnsafeMutablePointer<TapCounters>] = [:]
    /// What the person hears beside the calls, until `playbackEnded`.
    var playbacks: [UInt32: PlaybackPointer] = [:]
    /// Running streams of the PCM of calls, and what those are made of whose storage the thread still holds.
    var pcms: [UInt32: PCMPointer] = [:]
    var heldPCMs: [PCMPointer: PCMMemory] = [:]

    /// Starts the real-time thread.
    package init(_ configuration: AudioEngineConfiguration = AudioEngineConfiguration()) throws(AudioEngineError) {
        guard [8_000, 16_000, 32_000, 48_000].contains(configuration.busRate) else {
            throw .unsupportedFormat(rate: configuration.busRate, channels: 1)
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

    /// Ends the thread and waits for it. Calls' descriptors are closed; terminals' handles may be closed by their owner.
    package func stop() {
        guard isRunning else { return }
        isRunning = false
        // A full queue empties within milliseconds: the thread lives.
        while !commands.pointee.push(.stop) { usleep(1_000) }
        btcall_eventfd_signal(commandDescriptor)
        btcall_realtime_thread_join(&thread)
        _ = takeEvents()
        state.pointee.takeBack { _ = handle($0) }
        terminals.removeAll()
        calls.removeAll()
        heldCalls.removeAll()
        injections.removeAll()
        captures.removeAll()
        manual = nil
        taps.removeAll()
    }

    // MARK: Calls

    /// Adds the audio of a call: a SOCK_SEQPACKET socket, one message = 10 ms (INTERFACES.md section 2).
    ///
    /// - Parameters:
    ///   - id: not that of another attached call.
    ///   - descriptor: owned by the engine from now on, also when this throws.
    ///   - rate: one of `rates`, in frames per second.
    ///   - layout: of the samples in a message.
    ///   - active: clocked: the provider gets a block each 10 ms and answers each with one.
    package func attachCall(
        _ id: UInt32, descriptor: Int32, rate: Int, layout: SampleLayout = SampleLayout(), active: Bool
    ) throws(AudioEngineError) {
        do throws(AudioEngineError) {
            try checkCall(id, rate: rate, channels: layout.channels)
        } catch {
            btcall_close_peer(descriptor)
            throw error
        }
        let counters = UnsafeMutablePointer<CallCounters>.allocate(capacity: 1)
        counters.initialize(to: CallCounters())
        let port = CallPointer.allocate(capacity: 1)
        port.initialize(
            to: CallPort(
                id: id, descriptor: descriptor, rate: rate, layout: layout, busRate: configuration.busRate,
                counters: counters))
        let record = CallRecord(counters: counters, storage: port)
        calls[id] = record
        heldCalls.append(record)
        guard send(.attachCall(port, isActive: active)) else {
            calls[id] = nil
            free(call: port)
            throw .commandQueueFull
        }
    }

    /// Starts or stops the clocking of a call. What the provider of an inactive call sends is discarded.
    package func setCallActive(_ id: UInt32, _ active: Bool) {
        guard calls[id] != nil else { return }
        _ = send(.setCallActive(id, active))
    }

    /// Which ways a call's audio goes; digital silence within 20 ms where it does not.
    ///
    /// - Parameters:
    ///   - id: of a call that is attached, or that has the PCM.
    ///   - hears: the person hears the far end.
    ///   - speaks: the far end hears what every call is sent.
    package func setCallGates(_ id: UInt32, hears: Bool, speaks: Bool) {
        _ = send(.setCallGates(id, hears: hears, speaks: speaks))
    }

    /// Takes a call's audio away; its descriptor is closed soon after. The number may be used again at once.
    package func detachCall(_ id: UInt32) {
        guard calls.removeValue(forKey: id) != nil else { return }
        _ = send(.detachCall(id))
    }

    // MARK: What applications add

    /// Adds what an application says to what goes to the far end, as soon as it is there; while no call is clocked, the
    /// application waits.
    ///
    /// - Parameters:
    ///   - id: not that of another injection whose `injectionEnded` has not come.
    ///   - descriptor: owned by the engine from now on, also when this throws. SOCK_SEQPACKET, one message = at most 10 ms,
    ///     or SOCK_STREAM (`isStream`) with the same bytes.
    ///   - rate: one of `rates`, in frames per second.
    ///   - layout: of the samples.
    package func attachInjection(
        _ id: UInt32, descriptor: Int32, rate: Int, layout: SampleLayout, isStream: Bool
    ) throws(AudioEngineError) {
        do throws(AudioEngineError) {
            try check(rate: rate, channels: layout.channels)
            guard injections[id] == nil else { throw .duplicate(id) }
            guard injections.count < RealtimeThread.maximumInjections else {
                throw .tooMany(limit: RealtimeThread.maximumInjections)
            }
        } catch {
            btcall_close_peer(descriptor)
            throw error
        }
        let counters = UnsafeMutablePointer<InjectionCounters>.allocate(capacity: 1)
        counters.initialize(to: InjectionCounters())
        let port = InjectionPointer.allocate(capacity: 1)
        port.initialize(
            to: InjectionPort(
                id: id, descriptor: descriptor, rate: rate, layout: layout, isStream: isStream,
                busRate: configuration.busRate, counters: counters))
        injections[id] = counters
        guard send(.attachInjection(port)) else {
            injections[id] = nil
            free(injection: port)
            throw .commandQueueFull
        }
    }

    // MARK: Terminals

    /// Adds a device. A link is read and kept alive with silence from now on; a path starts when it is routed.
    ///
    /// - Parameters:
    ///   - id: not that of a terminal whose `terminalRemoved` has not come.
    ///   - speakerGain: linear, 0 is silence.
    ///   - microphoneGain: linear, 0 is silence.
    ///   - isAlone: it is never routed, and plays what is given it with `addPlayback` from now on.
    package func addTerminal(
        _ id: UInt32, _ kind: TerminalKind, speakerGain: Float = 1, microphoneGain: Float = 1, isAlone: Bool = false
    ) throws(AudioEngineError) {
        guard terminals[id] == nil else { throw .duplicate(id) }
        guard terminals.count < RealtimeThread.maximumTerminals else {
            throw .tooMany(limit: RealtimeThread.maximumTerminals)
        }
        if !isCodePresent {
            isCodePresent = true
            btcall_prefault_code()
        }
        let device: Terminal.Device
        let rates: (capture: Int, playback: Int)
        switch kind {
        case .link(let descriptor, let codec, let hint):
            if case .pcm(let rate) = codec { try check(rate: rate, channels: 1) }
            let port = LinkPointer.allocate(capacity: 1)
            port.initialize(
                to: LinkPort(
                    descriptor: descriptor, codec: codec, packetBytesHint: hint, busRate: configuration.busRate,
                    fallbackAfter: configuration.fallbackAfter.wholeNanoseconds, now: btcall_monotonic_nanoseconds()))
            rates = (port.pointee.rate, port.pointee.rate)
            device = .link(port)
        case .path(var streams):
            // What is said of a direction that there is not means nothing.
            if streams.playback == nil { streams.playbackRate = configuration.busRate }
            if streams.capture == nil { streams.captureRate = configuration.busRate }
            device = .path(try makePath(streams))
            rates = (streams.captureRate, streams.playbackRate)
        case .stream(let media):
            let port = try makeStream(media, speakerGain: speakerGain)
            let timer = try makePath(
                ALSAPath(playbackRate: configuration.busRate, captureRate: configuration.busRate))
            device = .stream(port, timer)
            rates = (configuration.busRate, port.pointee.rate)
        }
        let counters = UnsafeMutablePointer<TerminalCounters>.allocate(capacity: 1)
        counters.initialize(to: TerminalCounters())
        let terminal = TerminalPointer.allocate(capacity: 1)
        terminal.initialize(
            to: Terminal(
                id: id, device, captureRate: rates.capture, playbackRate: rates.playback,
                busRate: configuration.busRate, speakerGain: speakerGain, microphoneGain: microphoneGain,
                isAlone: isAlone, counters: counters))
        let link = terminal.pointee.link
        if let stream = terminal.pointee.stream { counters.pointee.bitpool.set(stream.pointee.bitpool) }
        terminals[id] = TerminalRecord(
            counters: counters, isLink: link != nil, rate: rates.playback, isFramed: link?.pointee.isFramed ?? false)
        guard send(.addTerminal(terminal)) else {
            terminals[id] = nil
            free(terminal: terminal)
            throw .commandQueueFull
        }
        // A link may die at any time: what takes long about opening a card then is ready, for the rate of most cards.
        if link != nil { AdaptiveResampler.prepare(from: configuration.busRate, to: 48_000) }
    }

    /// Cuts over to a terminal, or to none. Asynchronous: `routed` tells when it was done.
    ///
    /// A link is cut to once it receives packets, a path once it captures; until then the old terminal carries on.
    package func route(to id: UInt32?) {
        if let id, terminals[id] == nil { return }
        _ = send(.route(id))
    }

    /// Fades a terminal out, lets it play what it has, and gives it back: `terminalRemoved`,
    /// within 50 ms more than its queue holds.
    package func removeTerminal(_ id: UInt32) {
        guard terminals[id] != nil else { return }
        _ = send(.removeTerminal(id))
    }

    // MARK: Capture streams by themselves

    /// Adds a capture stream that a path is given while it plays, and that is taken from it again.
    ///
    /// - Parameters:
    ///   - id: not that of a stream whose `captureRemoved` has not come.
    ///   - runsAlone: it runs at once, without a path too, and what it captures then is thrown away.
    package func addCapture(_ id: UInt32, _ stream: ALSACapture, runsAlone: Bool) throws(AudioEngineError) {
        guard !captures.contains(id) else { throw .duplicate(id) }
        guard captures.count < RealtimeThread.maximumCaptures else {
            throw .tooMany(limit: RealtimeThread.maximumCaptures)
        }
        let (descriptors, count) = try watch(stream)
        let port = CapturePointer.allocate(capacity: 1)
        port.initialize(
            to: CapturePort(
                id, stream, busRate: configuration.busRate, runsAlone: runsAlone, descriptors: descriptors,
                descriptorCount: count))
        guard send(.addCapture(port)) else {
            free(capture: port)
            throw .commandQueueFull
        }
        captures.insert(id)
    }

    /// Gives a path a capture stream; a path that had it goes without. A path that has another one keeps that.
    package func attachCapture(_ id: UInt32, to terminal: UInt32) {
        guard captures.contains(id), terminals[terminal] != nil else { return }
        _ = send(.attachCapture(id, terminal: terminal))
    }

    /// Whether a capture stream runs without a path, too.
    package func setCaptureAlone(_ id: UInt32, _ runsAlone: Bool) {
        guard captures.contains(id) else { return }
        _ = send(.setCaptureAlone(id, runsAlone))
    }

    /// Takes a capture stream away, also from a path that plays, which goes on: `captureRemoved` within 20 ms.
    package func removeCapture(_ id: UInt32) {
        guard captures.contains(id) else { return }
        _ = send(.removeCapture(id))
    }

    /// Mutes what goes to all calls; digital silence within 20 ms.
    package func setMuting(_ muting: Muting) {
        _ = send(.mute(muting))
    }

    /// How loud the microphone is to all calls, whichever device it belongs to.
    ///
    /// - Parameter gain: linear, 0 is silence; reached by a short ramp.
    package func setMicrophoneVolume(_ gain: Float) { _ = send(.setMicrophoneVolume(gain)) }

    /// How loud what applications add is to all calls.
    ///
    /// - Parameter gain: linear, 0 is silence; reached by a short ramp.
    package func setApplicationVolume(_ gain: Float) { _ = send(.setApplicationVolume(gain)) }

    /// - Parameter gain: linear; reached by a short ramp.
    package func setSpeakerGain(_ id: UInt32, _ gain: Float) {
        _ = send(.setSpeakerGain(id, gain))
    }

    /// - Parameter gain: linear; reached by a short ramp.
    package func setMicrophoneGain(_ id: UInt32, _ gain: Float) {
        _ = send(.setMicrophoneGain(id, gain))
    }

    /// Blocks of silence sent when a call's clocking starts, for calls that start from now on.
    package func setPrimeBlocks(_ blocks: Int) {
        _ = send(.setPrimeBlocks(min(max(blocks, 0), CallPort.ringBlocks / 2)))
    }

    /// After how long without a packet a link is reported silent; nil adapts to its jitter (ROUTING.md section 8).
    package func setSilentLimit(_ id: UInt32, _ limit: Duration?) {
        _ = send(.setSilentLimit(id, nanoseconds: limit.map { max(0, $0.wholeNanoseconds) }))
    }

    // MARK: Evidence

    /// Takes all events and frees what the thread has given back.
    package func takeEvents() -> [AudioEngineEvent] {
        btcall_eventfd_clear(eventDescriptor)
        var result: [AudioEngineEvent] = []
        while let event = events.pointee.pop() {
            if let told = handle(event) { result.append(told) }
        }
        return result
    }

    /// What was counted of one terminal; nil when there is none of this number.
    package func counters(ofTerminal id: UInt32) -> EngineCounters.Terminal? {
        terminals[id].map { snapshot(id, $0) }
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
        result.wakeUps = threadCounters.pointee.wakeUps.read()
        result.lateWakeUps = threadCounters.pointee.lateWakeUps.read()
        result.worstLateMicroseconds = threadCounters.pointee.worstLateMicroseconds.read()
        result.busyNanoseconds = threadCounters.pointee.busyNanoseconds.read()
        return result
    }

    // MARK: Storage

    /// What the owner is told of it; storage that comes back is freed.
    private func handle(_ event: Event) -> AudioEngineEvent? {
        switch event {
        case .happened(.callStarted(let id)): return calls[id] == nil ? nil : .callStarted(id)
        case .happened(let fact): return fact
        case .callClosed(let call, let code):
            let id = call.pointee.id
            // The owner has detached it itself, and perhaps used the number again: nothing new.
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

    private func free(terminal: TerminalPointer) {
        switch terminal.pointee.device {
        case .link(let link): link.deinitialize(count: 1).deallocate()
        case .path(let path): path.deinitialize(count: 1).deallocate()
        case .stream(let stream, let path):
            path.deinitialize(count: 1).deallocate()
            stream.deinitialize(count: 1).deallocate()
        }
        terminal.pointee.counters.deinitialize(count: 1).deallocate()
        terminal.deinitialize(count: 1).deallocate()
    }

    private func free(call: CallPointer) {
        heldCalls.removeAll { $0.storage == call }
        btcall_close_peer(call.pointee.descriptor)
        call.pointee.counters.deinitialize(count: 1).deallocate()
        call.deinitialize(count: 1).deallocate()
    }

    private func free(injection: InjectionPointer) {
        btcall_close_peer(injection.pointee.descriptor)
        injection.pointee.counters.deinitialize(count: 1).deallocate()
        injection.deinitialize(count: 1).deallocate()
    }

    private func free(capture: CapturePointer) {
        capture.deinitialize(count: 1).deallocate()
    }

    private func checkCall(_ id: UInt32, rate: Int, channels: Int) throws(AudioEngineError) {
        try check(rate: rate, channels: channels)
        guard calls[id] == nil else { throw .duplicate(id) }
        guard heldCalls.count < RealtimeThread.maximumCalls else { throw .tooMany(limit: RealtimeThread.maximumCalls) }
    }

    func check(rate: Int, channels: Int) throws(AudioEngineError) {
        guard Self.rates.contains(rate), (1...2).contains(channels) else {
            throw .unsupportedFormat(rate: rate, channels: channels)
        }
    }

    /// Prepares the streams, which may take long, and finds what to poll.
    private func makePath(_ path: ALSAPath) throws(AudioEngineError) -> PathPointer {
        if let playback = path.playback {
            try check(rate: path.playbackRate, channels: path.playbackChannels)
            let code = snd_pcm_prepare(playback)
            if code < 0 { throw .failed(call: "snd_pcm_prepare", code: -code) }
        }
        var (descriptors, count) = (Self.makeDescriptors(), 0)
        if let capture = path.captureStream {
            descriptors.deallocate()
            (descriptors, count) = try watch(capture)
        }
        // Room for one tick above the target has to stay.
        let wanted = Int(playbackQueue.wholeNanoseconds * Int64(path.playbackRate) / 1_000_000_000)
        let target = max(0, min(wanted, path.playbackBufferFrames - path.playbackRate / 50))
        let port = PathPointer.allocate(capacity: 1)
        port.initialize(
            to: PathPort(
                path, busRate: configuration.busRate, target: target, descriptors: descriptors,
                descriptorCount: count))
        return port
    }

    private static func makeDescriptors() -> UnsafeMutablePointer<pollfd> {
        let descriptors = UnsafeMutablePointer<pollfd>.allocate(capacity: PathPort.maximumDescriptors)
        descriptors.initialize(repeating: pollfd(), count: PathPort.maximumDescriptors)
        return descriptors
    }

    /// Prepares a capture stream and finds what to poll.
    private func watch(
        _ stream: ALSACapture
    ) throws(AudioEngineError) -> (descriptors: UnsafeMutablePointer<pollfd>, count: Int) {
        try check(rate: stream.rate, channels: stream.channels)
        let code = snd_pcm_prepare(stream.pcm)
        if code < 0 { throw .failed(call: "snd_pcm_prepare", code: -code) }
        var count = Int(snd_pcm_poll_descriptors_count(stream.pcm))
        guard count > 0, count <= PathPort.maximumDescriptors else {
            throw .tooMany(limit: PathPort.maximumDescriptors)
        }
        let descriptors = Self.makeDescriptors()
        count = Int(snd_pcm_poll_descriptors(stream.pcm, descriptors, UInt32(PathPort.maximumDescriptors)))
        guard count > 0 else {
            descriptors.deallocate()
            throw .failed(call: "snd_pcm_poll_descriptors", code: EIO)
        }
        return (descriptors, count)
    }
}
