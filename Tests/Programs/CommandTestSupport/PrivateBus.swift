import Foundation

/// A private dbus-daemon, which ends with this object.
package final class PrivateBus: Sendable {
    package let address: String
    private let process: ChildProcess
    private let directory: URL

    package init() throws {
        directory = FileManager.default.temporaryDirectory.appending(path: "btcall-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: true)
        let socket = directory.appending(path: "bus").path()
        let configuration = directory.appending(path: "bus.conf")
        let text = """
            <!DOCTYPE busconfig PUBLIC "-//freedesktop//DTD D-BUS Bus Configuration 1.0//EN"
             "http://www.freedesktop.org/standards/dbus/1.0/busconfig.dtd">
            <busconfig>
              <type>session</type>
              <listen>unix:path=\(socket)</listen>
              <auth>EXTERNAL</auth>
              <policy context="default">
                <allow send_destination="*" eavesdrop="true"/>
                <allow eavesdrop="true"/>
                <allow own="*"/>
              </policy>
            </busconfig>
            """
        try text.write(to: configuration, atomically: true, encoding: .utf8)
        address = "unix:path=\(socket)"
        process = try ChildProcess(
            "/usr/bin/dbus-daemon", ["--config-file=\(configuration.path())", "--nofork", "--print-address=1"],
            capturing: .output)
        // It prints the address once it listens.
        _ = process.read()
    }

    deinit {
        // Leftovers are in the temporary directory.
        try? FileManager.default.removeItem(at: directory)
    }
}
