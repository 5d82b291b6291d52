import CallExchange
import Foundation

extension Sandbox {
    /// Writes what each device that played anything played, from the start of the sandbox: `headset-1.wav`, 16 kHz. Call
    /// it after ``stop()``.
    ///
    /// - Returns: the files; none where ``SandboxOptions/recordings`` is nil.
    package func writeRecordings() throws -> [String] {
        guard let folder = options.recordings else { return [] }
        var files: [String] = []
        for device in state.devices {
            let samples = recorded(device.name, rate: SandboxVoices.rate)
            guard !samples.isEmpty else { continue }
            let file = folder + "/" + device.name.replacing(" ", with: "-") + ".wav"
            var writer = try WaveWriter(path: file, rate: SandboxVoices.rate)
            try writer.append(samples)
            files.append(file)
        }
        return files
    }
}
