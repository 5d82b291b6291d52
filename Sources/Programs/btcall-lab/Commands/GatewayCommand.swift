import ArgumentParser
import CommandKit
import ControlLoop

/// `btcall-lab gateway`: a bench for the Audio Gateway; needs no daemon, no Bluetooth and no sound card.
struct GatewayCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "gateway",
        abstract: "Run the daemon's Audio Gateway with headsets that are programs, driven by a script.",
        discussion: """
            The driver program listens on a Unix stream socket. Both sides write JSON objects, one a line. A \
            headset is a Unix stream socket, too: its bytes are those of the RFCOMM channel.

            From the driver: {"op":"configure","ag":{…}} first, then {"op":"link_up","link":0,"path":"…"}, \
            {"op":"calls","swapped":false,"calls":[…]}, {"op":"event","link":0,"event":{"type":…}}, \
            {"op":"reply","id":7,"ok":true}, {"op":"quit"}. To it: {"op":"slc","link":0,"up":true}, \
            {"op":"request","id":7,"link":0,"kind":…}, {"op":"effect","link":0,"kind":…}, \
            {"op":"unsupported","why":"…"}. The page "A headset or a capture on the bench" has all of it.

            Exit codes: 0 the driver sent quit, closed the control socket, or requested an unsupported gateway; \
            1 the control socket cannot be reached; 2 a control message is malformed (standard error has the \
            message and the accepted form); 64 invalid command line.

            Example: btcall-lab gateway --control /tmp/driver.sock
            """)

    @Option(help: ArgumentHelp("The driver's listening socket.", valueName: "path"), completion: .file())
    var control: String

    func run() throws {
        let path = control
        let code = runOnControlLoop { await Self.serve(path, .terminal) }
        if code != 0 { throw ExitCode(code) }
    }

    /// - Returns: the exit code.
    @ControlPlane
    static func serve(_ path: String, _ output: Output) async -> Int32 {
        let bench: GatewayBench
        do throws(SystemError) {
            let descriptor = try await UnixStream.connect(path, within: .seconds(10))
            bench = try GatewayBench(control: descriptor)
        } catch {
            output.printError("nobody listens at \(path): \(error)")
            return 1
        }
        switch await bench.run() {
        case .done: return 0
        case .malformed(let why):
            output.printError(why)
            return 2
        }
    }
}
