import CBTCall
import Glibc

// Capture streams that are added separately from paths.
extension AudioEngine {
    /// Adds a capture stream that can be attached to a path and detached from it while the path plays.
    ///
    /// - Parameters:
    ///   - id: not in use by a stream whose `captureRemoved` has not arrived yet.
    ///   - runsAlone: the stream starts at once and also runs without a path; its samples are then discarded.
    package func addCapture(_ id: UInt32, _ stream: ALSACapture, runsAlone: Bool) throws(AudioEngineError) {
        guard !captures.contains(id) else { throw .duplicate(id) }
        guard captures.count < RealtimeThread.maximumCaptures else {
            throw .tooMany(limit: RealtimeThread.maximumCaptures)
        }
        let (descriptors, count) = try watch(stream)
        let port = CapturePointer.allocate(capacity: 1)
        port.initialize(
            to: CapturePort(
                id, stream, bus: configuration.bus, runsAlone: runsAlone, descriptors: descriptors,
                descriptorCount: count))
        guard send(.addCapture(port)) else {
            free(capture: port)
            throw .commandQueueFull
        }
        captures.insert(id)
    }

    /// Attaches a capture stream to a path, detaching it from any other. A path that already has a capture stream keeps it.
    package func attachCapture(_ id: UInt32, to terminal: UInt32) {
        guard captures.contains(id), terminals[terminal] != nil else { return }
        _ = send(.attachCapture(id, terminal: terminal))
    }

    /// Sets whether a capture stream also runs without a path.
    package func setCaptureAlone(_ id: UInt32, _ runsAlone: Bool) {
        guard captures.contains(id) else { return }
        _ = send(.setCaptureAlone(id, runsAlone))
    }

    /// Removes a capture stream, also from a playing path, which continues: `captureRemoved` follows within 20 ms.
    package func removeCapture(_ id: UInt32) {
        guard captures.contains(id) else { return }
        _ = send(.removeCapture(id))
    }

    /// Prepares a capture stream and determines the descriptors to poll.
    func watch(
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

    static func makeDescriptors() -> UnsafeMutablePointer<pollfd> {
        let descriptors = UnsafeMutablePointer<pollfd>.allocate(capacity: PathPort.maximumDescriptors)
        descriptors.initialize(repeating: pollfd(), count: PathPort.maximumDescriptors)
        return descriptors
    }

    func free(capture: CapturePointer) {
        capture.deinitialize(count: 1).deallocate()
    }
}
