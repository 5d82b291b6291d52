import CBTCall

// Streams of the ALSA PCM: rings that programs share with the thread.
extension AudioEngine {
    /// Streams at once, of all kinds.
    package static var maximumPCMStreams: Int { RealtimeThread.maximumPCMs }

    /// Adds a running stream of the PCM of calls. While a call has the PCM for its audio the thread is its clock.
    ///
    /// - Parameter id: not that of another stream that is running.
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

    /// Stops a stream; the client is its own clock from then on. The number may be used again at once.
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
        port.initialize(to: PCMPort(id: id, memory, busRate: configuration.busRate))
        heldPCMs[port] = memory
        return port
    }

    /// The thread has let go of it.
    func free(pcm port: PCMPointer) {
        port.pointee.disengage()
        port.deinitialize(count: 1).deallocate()
        heldPCMs[port] = nil
    }
}
