internal import CBTCall
internal import Glibc

/// Reports the daemon's state to the service manager (`sd_notify(3)`, one datagram a message, without its library).
///
/// Without a service manager nothing is sent. A message that cannot be delivered is dropped.
package struct ServiceNotifier: Sendable {
    /// A path, or an abstract name that begins with `@`.
    private let socket: String?
    /// Time without `watchdog()` after which the service manager restarts the daemon; nil without a watchdog.
    package let watchdogInterval: Duration?

    /// Reads `NOTIFY_SOCKET`, `WATCHDOG_USEC` and `WATCHDOG_PID` from the environment.
    package init() {
        let watched = Self.variable("WATCHDOG_PID").map { $0 == String(getpid()) } ?? true
        let microseconds = Self.variable("WATCHDOG_USEC").flatMap { Int64($0) } ?? 0
        self.init(
            socket: Self.variable("NOTIFY_SOCKET"),
            watchdogInterval: watched && microseconds > 0 ? .microseconds(microseconds) : nil)
    }

    package init(socket: String?, watchdogInterval: Duration?) {
        self.socket = socket
        self.watchdogInterval = watchdogInterval
    }

    package var isActive: Bool { socket != nil }

    package func ready() { send("READY=1") }

    /// - Parameter text: one line for `systemctl status`; it is cleaned.
    package func status(_ text: String) {
        send("STATUS=" + PrintableText.line(text))
    }

    package func watchdog() { send("WATCHDOG=1") }

    package func stopping() { send("STOPPING=1") }

    private func send(_ message: String) {
        guard let socket else { return }
        var message = message
        message.withUTF8 { _ = btcall_send_datagram(socket, $0.baseAddress, $0.count) }
    }

    private static func variable(_ name: String) -> String? {
        getenv(name).map { String(cString: $0) }
    }
}
