import BTCall
import Foundation

/// The program: its arguments, signals and exit code.
@main
struct Main {
    private static let usage = """
        usage: IntercomExample ring [RECORDING]           a visitor rings, the headsets ring
               IntercomExample call NUMBER [RECORDING]    the door calls somebody
        RECORDING: aplay -f S16_LE -r 16000 RECORDING. BTCALL_BUS names another bus than the system's. Ctrl-C ends the call.
        """

    static func main() async {
        var words = CommandLine.arguments.dropFirst()
        let verb = words.popFirst()
        let number = verb == "call" ? words.popFirst() : nil
        guard verb == "ring" || number != nil, words.count <= 1 else { leave(64, usage) }
        do throws(BridgeError) {
            let bridge = try await CallBridge(bus: bus())
            let intercom = Intercom(on: bridge, recording: words.first.map(create))
            let stop = signals.reading
            for number in [SIGINT, SIGTERM] {
                signal(number) { _ in
                    var byte: UInt8 = 0
                    write(signals.writing, &byte, 1)
                }
            }
            Thread.detachNewThread {
                var byte: UInt8 = 0
                guard read(stop, &byte, 1) == 1 else { return }
                Task { await intercom.hangUp() }
            }
            try await intercom.run(calling: number)
            // Ends the registration, too.
            await bridge.close()
        } catch {
            leave(error.code == .notRunning || error.code == .noBus ? 3 : 1, error.message)
        }
    }

    private static func bus() -> BridgeBus {
        guard let text = ProcessInfo.processInfo.environment["BTCALL_BUS"] else { return .system }
        return BridgeBus(text) ?? .address(text)
    }

    private static func create(_ path: String) -> FileHandle {
        let descriptor = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0o644)
        guard descriptor >= 0 else { leave(1, "\(path) cannot be written: \(String(cString: strerror(errno)))") }
        return FileHandle(fileDescriptor: descriptor, closeOnDealloc: true)
    }

    private static func leave(_ code: Int32, _ message: String) -> Never {
        FileHandle.standardError.write(Data("IntercomExample: \(message)\n".utf8))
        exit(code)
    }
}

/// A pipe that receives signals as bytes: they interrupt any thread, and a handler may only write.
private let signals: (reading: Int32, writing: Int32) = {
    var ends: [Int32] = [-1, -1]
    pipe(&ends)
    return (ends[0], ends[1])
}()

/// Prints a line immediately, even into a file.
func say(_ text: String) {
    FileHandle.standardOutput.write(Data("\(text)\n".utf8))
}
