import CALSA
import ControlLoop
import Glibc

/// The descriptors by which alsa-lib reports events.
enum PollSources {
    /// Watches all of the descriptors, or none if one cannot be watched.
    ///
    /// - Parameters:
    ///   - device: for an error.
    ///   - count: result of `snd_…_poll_descriptors_count`.
    ///   - fill: `snd_…_poll_descriptors`; returns the number of descriptors.
    ///   - handler: on the control plane.
    @ControlPlane
    static func watch(
        _ device: String, count: Int32, fill: (UnsafeMutablePointer<pollfd>, UInt32) -> Int32,
        handler: @escaping @ControlPlane (Readiness) -> Void
    ) throws(ALSAError) -> [DescriptorSource] {
        var entries = [pollfd](repeating: pollfd(), count: max(Int(count), 0))
        let filled = Int(fill(&entries, UInt32(entries.count)))
        var sources: [DescriptorSource] = []
        for entry in entries.prefix(max(filled, 0)) {
            do throws(SystemError) {
                sources.append(try ControlLoop.shared.add(entry.fd, .readable, handler))
            } catch {
                for source in sources { source.cancel() }
                throw .failed(device: device, call: error.call, code: error.code, message: "\(error)")
            }
        }
        return sources
    }
}
