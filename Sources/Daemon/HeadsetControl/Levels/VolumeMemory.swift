package import BluetoothTypes
package import Configuration
package import ControlLoop
package import Diagnostics
package import Logging

/// The volumes of headsets, kept over their connections and over restarts: one for each headset and role.
///
/// The file `volumes.conf` of the state directory has a section for each headset. It is written some time after the first
/// change, so that a person who turns the volume costs one write, and not before that time has passed again.
@ControlPlane
package final class VolumeMemory {
    /// Headsets that are remembered; of more, the one whose volume was changed the longest ago is forgotten.
    package static let limit = 64

    private let file: StateFile?
    private let pause: Duration
    private let writer: StateWriter
    private let problems: ProblemList
    private let logger: Logger
    /// The one that was changed last comes last.
    private var entries: [(address: BluetoothAddress, volumes: HeadsetVolumes)] = []
    /// What the writer was asked for last; nil: it could not write that.
    private var written: String? = ""
    private var timer: Timer?

    /// - Parameters:
    ///   - directory: absolute; nil remembers as long as the daemon runs.
    ///   - pause: between a change and the write, and between two writes.
    package init(
        directory: String?, pause: Duration, writer: StateWriter, problems: ProblemList, logger: Logger
    ) {
        self.writer = writer
        file = directory.map { StateFile("volumes.conf", in: $0) }
        self.pause = pause
        self.problems = problems
        self.logger = logger
        load()
        written = text
    }

    package func volumes(of address: BluetoothAddress) -> HeadsetVolumes {
        entries.first { $0.address == address }?.volumes ?? HeadsetVolumes()
    }

    /// Remembers what is known of a headset's volumes; a role of which nothing is known stays as it was.
    package func note(_ volumes: HeadsetVolumes, of address: BluetoothAddress) {
        let index = entries.firstIndex { $0.address == address }
        let old = index.map { entries[$0].volumes } ?? HeadsetVolumes()
        let new = HeadsetVolumes(
            speaker: volumes.speaker ?? old.speaker, microphone: volumes.microphone ?? old.microphone)
        guard new != old else { return }
        if let index { entries.remove(at: index) }
        entries.append((address, new))
        if entries.count > Self.limit { entries.removeFirst(entries.count - Self.limit) }
        writeLater()
    }

    /// The headset is not paired any more.
    package func forget(_ address: BluetoothAddress) {
        guard let index = entries.firstIndex(where: { $0.address == address }) else { return }
        entries.remove(at: index)
        writeLater()
    }

    /// Has the writer write what has changed, without another pause.
    package func flush() {
        timer?.cancel()
        timer = nil
        let text = text
        guard let file, text != written else { return }
        written = text
        writer.write(text, to: file) { [weak self, problems] error in
            guard let error else { return problems.end("volumes") }
            if self?.written == text { self?.written = nil }
            problems.begin(
                "volumes", what: "the volumes of headsets are not kept",
                remedy: "cannot write \(file.path): \(error); make the directory writable for the daemon's user "
                    + "(StateDirectory=btcall in the unit does) or set [daemon] stateDirectory")
        }
    }

    private func writeLater() {
        guard file != nil, timer == nil else { return }
        timer = ControlLoop.shared.schedule(after: pause) { [weak self] in self?.flush() }
    }

    // MARK: The file

    private var text: String {
        var text = "# Volumes of headsets, 0 to 15; written by btcalld.\n"
        for (address, volumes) in entries {
            text += "[\(address)]\n"
            if let speaker = volumes.speaker { text += "speaker = \(speaker)\n" }
            if let microphone = volumes.microphone { text += "microphone = \(microphone)\n" }
        }
        return text
    }

    /// What is not understood is left out, with a line in the log: a volume that a person has to set again is no reason not
    /// to start.
    private func load() {
        guard let file, file.exists else { return }
        do throws(ConfigurationError) {
            for entry in try ConfigurationReader.entries(ofFile: file.path) { take(entry, file.path) }
        } catch {
            entries = []
            logger.error("volumes of headsets are not restored: \(error)")
        }
        if entries.count > Self.limit { entries.removeFirst(entries.count - Self.limit) }
    }

    private func take(_ entry: ConfigurationEntry, _ path: String) {
        guard let address = BluetoothAddress(entry.section), let value = Int(entry.value), (0...15).contains(value)
        else { return refuse(entry, path) }
        let last = entries.firstIndex { $0.address == address }
        var volumes = last.map { entries[$0].volumes } ?? HeadsetVolumes()
        switch entry.key {
        case "speaker": volumes.speaker = value
        case "microphone": volumes.microphone = value
        default: return refuse(entry, path)
        }
        if let last { entries[last].volumes = volumes } else { entries.append((address, volumes)) }
    }

    private func refuse(_ entry: ConfigurationEntry, _ path: String) {
        logger.warning(
            """
            \(path):\(entry.line): [\(entry.section)] \(entry.key) = \(entry.value) is ignored; a section is a headset's \
            address and has speaker and microphone, 0 to 15
            """)
    }
}
