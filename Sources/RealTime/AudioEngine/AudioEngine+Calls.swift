package import AudioDSP
import CBTCall

// Calls: their sockets and the directions of their audio.
extension AudioEngine {
    /// Adds the audio of a call: a SOCK_SEQPACKET socket, one message = 10 ms (docs/Applications.md).
    ///
    /// - Parameters:
    ///   - id: not in use by another attached call.
    ///   - descriptor: owned by the engine from now on, also when this throws.
    ///   - rate: one of `rates`, in frames per second.
    ///   - layout: of the samples in a message.
    ///   - active: clocked: the provider receives a block every 10 ms and answers each with one block.
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
                id: id, descriptor: descriptor, rate: rate, layout: layout, bus: configuration.bus,
                mostBlocks: configuration.downlinkLimitBlocks, counters: counters))
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

    /// Sets the directions in which a call's audio flows; a closed direction is digital silence within 20 ms.
    ///
    /// - Parameters:
    ///   - id: of a call that is attached or uses the PCM.
    ///   - hears: the person hears the far end.
    ///   - speaks: the far end hears the uplink that all calls share.
    package func setCallGates(_ id: UInt32, hears: Bool, speaks: Bool) {
        _ = send(.setCallGates(id, hears: hears, speaks: speaks))
    }

    /// Detaches a call's audio; its descriptor is closed soon after. The number may be reused at once.
    package func detachCall(_ id: UInt32) {
        guard calls.removeValue(forKey: id) != nil else { return }
        _ = send(.detachCall(id))
    }

    /// Sets how many blocks of silence are sent when a call's clocking starts; applies to calls that start from now on.
    package func setPrimeBlocks(_ blocks: Int) {
        _ = send(.setPrimeBlocks(min(max(blocks, 0), CallPort.ringBlocks / 2)))
    }

    /// Sets how many blocks are queued for an application; applies to calls that start from now on.
    ///
    /// - Parameter blocks: nil adapts to the application (``ApplicationQueue``).
    package func setCallQueue(_ blocks: Int?) {
        setPrimeBlocks(blocks ?? ApplicationQueue.firstBlocks)
        _ = send(.setQueueAdapts(blocks == nil))
    }

    private func checkCall(_ id: UInt32, rate: Int, channels: Int) throws(AudioEngineError) {
        try check(rate: rate, channels: channels)
        guard calls[id] == nil else { throw .duplicate(id) }
        guard heldCalls.count < RealtimeThread.maximumCalls else { throw .tooMany(limit: RealtimeThread.maximumCalls) }
    }

    func free(call: CallPointer) {
        heldCalls.removeAll { $0.storage == call }
        btcall_close_peer(call.pointee.descriptor)
        call.pointee.counters.deinitialize(count: 1).deallocate()
        call.deinitialize(count: 1).deallocate()
    }
}
