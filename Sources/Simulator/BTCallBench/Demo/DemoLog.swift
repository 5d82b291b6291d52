import BluetoothTypes
import ControlLoop
import Foundation
package import Logging

/// Log of the demonstration's daemon, in a file: the screen shows the story.
package final class DemoLog: Sendable {
    package let logger: Logger
    private let sink: LogSink
    private let file: FileHandle

    /// - Parameter path: path of the file, which is created or emptied.
    /// - Throws: when it cannot be written.
    package init(path: String) throws {
        try Data().write(to: URL(filePath: path))
        file = try FileHandle(forWritingTo: URL(filePath: path))
        let writer = LineWriter(file.fileDescriptor)
        let start = ControlLoop.now
        sink = LogSinks.add { line in
            let time = start.duration(to: ControlLoop.now).components
            let seconds = Double(time.seconds) + Double(time.attoseconds) / 1e18
            writer.write("\(String(format: "%8.3f s", seconds))  \(line.level) \(line.message)\n")
        }
        logger = Logger(label: "btcalld") { StandardErrorLogHandler(label: $0, level: .info) }
    }

    package func end() { sink.end() }
}
