import CBTCall
import Glibc

// Capture streams by themselves.
extension AudioEngine {
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

    /// Prepares a capture stream and finds what to poll.
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
