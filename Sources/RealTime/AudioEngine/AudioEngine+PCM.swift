import CBTCall

// Streams of the ALSA PCM: rings that client programs share with the thread.
extension AudioEngine {
    /// Maximum number of simultaneous streams of all kinds.
    package static var maximumPCMStreams: Int { RealtimeThread.maximumPCMs }

    /// Adds a running stream of the PCM of calls. While a call uses the PCM for its audio, the thread clocks the stream.
    ///
    /// - Parameter id: not in use by another running stream.
    package func addPCM(_ id: UInt32, _ memory: PCMMemory) throws(AudioEngineError) {
        guard pcms[id] == nil else { throw .duplicate(id) }
        guard heldPCMs.count < RealtimeThread.maximumPCMs else { throw .tooMany(limit: RealtimeThread.maximumPCMs) }
        let port = makePCM(id, memory)
        pcms[id] = port
        guard send(.addPCM(port)) else {
            pcms[id] = nil
            free(pcm: port)
            throw .commandQueueFull
        }
    }

    /// Stops a stream; from then on the client clocks itself. The number may be reused at once.
    package func removePCM(_ id: UInt32) {
        guard pcms.removeValue(forKey: id) != nil else { return }
        _ = send(.removePCM(id))
    }

    /// Makes the PCM the audio of a call, under the call's number; nil ends that.
    package func setPCMCall(_ call: UInt32?) {
        _ = send(.setPCMCall(call))
    }

    func makePCM(_ id: UInt32, _ memory: PCMMemory) -> PCMPointer {
        let port = PCMPointer.allocate(capacity: 1)
        port.initialize(to: PCMPort(id: id, memory, bus: configuration.bus))
        heldPCMs[port] = memory
        return port
    }

    /// Frees a port that the thread has released.
    func free(pcm port: PCMPointer) {
        port.pointee.disengage()
        port.deinitialize(count: 1).deallocate()
        heldPCMs[port] = nil
    }
}
