package import AudioDSP
import CBTCall
import Glibc

/// State of manual rendering on the control side.
struct ManualRecord {
    let id: UInt32
    let counters: UnsafeMutablePointer<ManualCounters>
    let uplinkCounters: UnsafeMutablePointer<InjectionCounters>
    let descriptors: (uplink: Int32, downlink: Int32)

    func snapshot() -> EngineCounters.Manual {
        let said = uplinkCounters.pointee.snapshot(id: id)
        return EngineCounters.Manual(
            id: id, blocksTaken: said.blocksTaken, blocksMissing: counters.pointee.blocksMissing.read(),
            blocksBad: said.blocksBad, blocksGiven: counters.pointee.blocksGiven.read(),
            blocksDropped: counters.pointee.blocksDropped.read())
    }

    func free() {
        btcall_close_peer(descriptors.uplink)
        btcall_close_peer(descriptors.downlink)
        counters.deinitialize(count: 1).deallocate()
        uplinkCounters.deinitialize(count: 1).deallocate()
    }
}

// Injections, manual rendering and taps.
extension AudioEngine {
    // MARK: Injections

    /// Mixes an application's audio into what the far end hears, starting when data arrives. While no call is clocked, the
    /// application waits.
    ///
    /// - Parameters:
    ///   - id: not in use by an injection whose `injectionEnded` has not arrived yet.
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
                bus: configuration.bus, counters: counters))
        injections[id] = counters
        guard send(.attachInjection(port)) else {
            injections[id] = nil
            free(injection: port)
            throw .commandQueueFull
        }
    }

    func free(injection: InjectionPointer) {
        btcall_close_peer(injection.pointee.descriptor)
        injection.pointee.counters.deinitialize(count: 1).deallocate()
        injection.deinitialize(count: 1).deallocate()
    }

    // MARK: Manual rendering

    /// Makes an application the device while no terminal is routed: it hears all calls, and the far end of each call hears
    /// it.
    ///
    /// Only one at a time, until its `manualEnded`.
    ///
    /// - Parameters:
    ///   - uplink: the application writes to it; SOCK_SEQPACKET, one message = at most 10 ms, or SOCK_STREAM (`isStream`)
    ///     with the same bytes. Owned by the engine from now on, also when this throws.
    ///   - downlink: the application reads from it; same socket types and ownership. Unread data is dropped.
    ///   - rate: one of `rates`, in frames per second.
    ///   - layout: of the samples, both ways.
    package func attachManual(
        _ id: UInt32, uplink: Int32, downlink: Int32, rate: Int, layout: SampleLayout, isStream: Bool
    ) throws(AudioEngineError) {
        do throws(AudioEngineError) {
            try check(rate: rate, channels: layout.channels)
            guard manual == nil else { throw .tooMany(limit: 1) }
        } catch {
            btcall_close_peer(uplink)
            btcall_close_peer(downlink)
            throw error
        }
        let counters = UnsafeMutablePointer<ManualCounters>.allocate(capacity: 1)
        counters.initialize(to: ManualCounters())
        let uplinkCounters = UnsafeMutablePointer<InjectionCounters>.allocate(capacity: 1)
        uplinkCounters.initialize(to: InjectionCounters())
        let port = ManualPointer.allocate(capacity: 1)
        port.initialize(
            to: ManualPort(
                id: id, uplink: uplink, downlink: downlink, rate: rate, layout: layout, isStream: isStream,
                bus: configuration.bus, counters: counters, uplinkCounters: uplinkCounters))
        manual = ManualRecord(
            id: id, counters: counters, uplinkCounters: uplinkCounters, descriptors: (uplink, downlink))
        guard send(.attachManual(port)) else {
            free(manual: port)
            throw .commandQueueFull
        }
    }

    /// Ends manual rendering at once; `manualEnded` follows.
    package func detachManual() {
        if manual != nil { _ = send(.detachManual) }
    }

    func free(manual port: ManualPointer) {
        port.deinitialize(count: 1).deallocate()
        manual?.free()
        manual = nil
    }

    // MARK: Taps

    /// Copies a call to a recorder, starting with the call's next block; the call may be attached later, or again.
    ///
    /// - Parameters:
    ///   - id: not in use by a tap whose `tapEnded` has not arrived yet.
    ///   - call: number of the call.
    ///   - side: `stereo` only with a layout of two channels.
    ///   - descriptor: owned by the engine from now on, also when this throws. Unread data is dropped.
    ///   - rate: one of `rates`, in frames per second.
    package func attachTap(
        _ id: UInt32, ofCall call: UInt32, _ side: TapSide, descriptor: Int32, rate: Int, layout: SampleLayout,
        isStream: Bool
    ) throws(AudioEngineError) {
        do throws(AudioEngineError) {
            try check(rate: rate, channels: layout.channels)
            guard side != .stereo || layout.channels == 2 else {
                throw .unsupportedFormat(rate: rate, channels: layout.channels)
            }
            guard taps[id] == nil else { throw .duplicate(id) }
            guard taps.count < RealtimeThread.maximumTaps else { throw .tooMany(limit: RealtimeThread.maximumTaps) }
        } catch {
            btcall_close_peer(descriptor)
            throw error
        }
        let counters = UnsafeMutablePointer<TapCounters>.allocate(capacity: 1)
        counters.initialize(to: TapCounters())
        let port = TapPointer.allocate(capacity: 1)
        port.initialize(
            to: TapPort(
                id: id, call: call, side: side, descriptor: descriptor, rate: rate, layout: layout,
                isStream: isStream, bus: configuration.bus, counters: counters))
        taps[id] = counters
        guard send(.attachTap(port)) else {
            taps[id] = nil
            free(tap: port)
            throw .commandQueueFull
        }
    }

    /// Ends a tap; `tapEnded` follows.
    package func detachTap(_ id: UInt32) {
        guard taps[id] != nil else { return }
        _ = send(.detachTap(id))
    }

    func free(tap: TapPointer) {
        btcall_close_peer(tap.pointee.descriptor)
        tap.pointee.counters.deinitialize(count: 1).deallocate()
        tap.deinitialize(count: 1).deallocate()
    }
}
