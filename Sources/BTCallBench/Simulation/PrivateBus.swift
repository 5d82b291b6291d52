import Foundation

/// A message bus of one's own: a `dbus-daemon` that ends with this object.
package final class PrivateBus {
    package struct Failure: Error, CustomStringConvertible {
        package let description: String
    }

    /// As `--bus` takes it.
    package let address: String
    private let process: Process
    private let folder: URL

    package init() throws(Failure) {
        folder = FileManager.default.temporaryDirectory.appending(path: "btcall-bus-\(UUID().uuidString)")
        process = Process()
        let socket = folder.appending(path: "bus").path
        address = "unix:path=\(socket)"
        let configuration = """
            <!DOCTYPE busconfig PUBLIC "-//freedesktop//DTD D-BUS Bus Configuration 1.0//EN"
             "http://www.freedesktop.org/standards/dbus/1.0/busconfig.dtd">
            <busconfig><type>session</type><listen>\(address)</listen><auth>EXTERNAL</auth>
            <policy context="default"><allow send_destination="*" eavesdrop="true"/><allow eavesdrop="true"/>
            <allow own="*"/></policy></busconfig>
            """
        do {
            try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
            let file = folder.appending(path: "bus.conf")
            try configuration.write(to: file, atomically: true, encoding: .utf8)
            process.executableURL = URL(filePath: "/usr/bin/env")
            process.arguments = [
                "dbus-daemon", "--nofork", "--nopidfile", "--config-file=\(file.path)", "--print-address",
            ]
            let output = Pipe()
            process.standardOutput = output
            try process.run()
            // The address is printed when the socket exists.
            guard let line = try output.fileHandleForReading.read(upToCount: 1), !line.isEmpty else {
                throw Failure(description: "it ended at once")
            }
        } catch {
            throw Failure(description: "dbus-daemon does not start (\(error)): install it (`apt-get install dbus`)")
        }
    }

    deinit {
        if process.isRunning {
            process.terminate()
            process.waitUntilExit()
        }
        try? FileManager.default.removeItem(at: folder)  // A folder in the temporary directory may stay.
    }
}
