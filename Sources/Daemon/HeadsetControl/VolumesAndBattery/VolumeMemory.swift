package import BluetoothTypes
package import Configuration
package import ControlLoop
package import Diagnostics
package import Logging

/// The volumes of headsets, kept over their connections and over restarts: one for each headset and role.
///
/// The file `volumes.conf` of the state directory has a section for each headset. It is written some time after the first
/// change, and at most once per that time, so that a person who turns the volume causes a single write.
@ControlPlane
package final class VolumeMemory {
    /// Most headsets that are remembered; beyond that, the one whose volume was changed the longest ago is forgotten.
    package static let limit = 64

    private let file: StateFile?
    private let pause: Duration
    private let writer: StateWriter
    private let problems: ProblemList
    private let logger: Logger
    /// In the order of their last change, the latest last.
    private var entries: [(address: BluetoothAddress, volumes: HeadsetVolumes)] = []
    /// Text last passed to the writer; nil after a failed write.
    private var written: String? = ""
    private var timer: Timer?

    /// - Parameters:
    ///   - directory: absolute; nil keeps the volumes in memory only.
    ///   - pause: time between a change and the write, and between two writes.
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

    /// Remembers a headset's volumes; an unknown volume (nil) leaves the remembered one unchanged.
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

    /// The headset is no longer paired.
    package func forget(_ address: BluetoothAddress) {
        guard let index = entries.firstIndex(where: { $0.address == address }) else { return }
        entries.remove(at: index)
        writeLater()
    }

    /// Passes unsaved changes to the writer at once.
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

    /// Skips invalid entries with a line in the log: a lost volume, which a person can set again, is no reason not to start.
    private func load() {
        guard let file, file.exists else { return }
        do throws(ConfigurationError) {
            for entry in try ConfigurationReader.entries(ofFile: file.path) { read(entry, of: file.path) }
        } catch {
            entries = []
            logger.error("volumes of headsets are not restored: \(error)")
        }
        if entries.count > Self.limit { entries.removeFirst(entries.count - Self.limit) }
    }

    private func read(_ entry: ConfigurationEntry, of path: String) {
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
