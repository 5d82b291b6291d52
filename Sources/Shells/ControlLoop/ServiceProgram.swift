internal import Glibc

/// A program that a service manager runs: its descriptors, its last words, and its end by a signal.
package struct ServiceProgram: Sendable {
    private let name: String

    /// - Parameter name: begins its messages.
    package init(_ name: String) {
        self.name = name
    }

    /// Opens closed standard descriptors; writing to a peer that has gone becomes an error. Call this first of all.
    package func begin() {
        StandardDescriptors.open()
        StandardDescriptors.detachErrors()
        signal(SIGPIPE, SIG_IGN)
    }

    /// Ends the process with status 0.
    package func finish(_ text: String) -> Never {
        print(text)
        exit(0)
    }

    /// Ends the process.
    ///
    /// - Parameter message: may have several lines and quote a file.
    package func fail(_ status: Int32, _ message: String) -> Never {
        LineWriter.standardError.write(PrintableText.document("\(name): \(message)\n"))
        exit(status)
    }

    /// The bytes of a configuration file; if it cannot be read, the process ends with status 1.
    package func read(_ file: String, atMost bytes: Int) -> [UInt8] {
        do throws(FileRefusal) {
            return try ForeignFile.read(file, atMost: bytes)
        } catch {
            fail(1, "\(error)")
        }
    }

    /// Tells the service manager that the program is ready, and ends the control loop after one of the signals.
    ///
    /// - Parameter stop: what to do before the end.
    /// - Returns: ends the program as a signal does.
    @ControlPlane
    @discardableResult
    package func ready(endingOn signals: [Int32], _ stop: @escaping @ControlPlane () async -> Void)
        -> @ControlPlane () -> Void
    {
        let end: @ControlPlane () -> Void = {
            Task { @ControlPlane in
                ServiceNotifier().stopping()
                await stop()
                ControlLoop.shared.stop()
            }
        }
        do throws(SystemError) {
            for signal in signals { _ = try ControlLoop.shared.onSignal(signal, end) }
        } catch {
            fail(1, "signals cannot be handled: \(error)")
        }
        ServiceNotifier().ready()
        return end
    }
}
