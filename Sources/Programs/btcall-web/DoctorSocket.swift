import ControlLoop
import Glibc

/// Asks for the findings of `btcall doctor` where a unit of its own runs it (`btcall-web-doctor.socket`): the confinement of
/// btcall-web hides the machine from it.
enum DoctorSocket {
    static let standard = "/run/btcall-web-doctor.sock"

    /// The findings as JSON.
    ///
    /// - Parameters:
    ///   - path: of the socket.
    ///   - limit: after which ``WebError`` 504 is thrown.
    /// - Returns: nil if there is no such socket.
    @ControlPlane
    static func report(at path: String, within limit: Duration = .seconds(30)) async throws -> [UInt8]? {
        let descriptor: Int32
        do throws(SystemError) {
            descriptor = try UnixStream.connect(path)
        } catch {
            if error.code == ENOENT { return nil }
            throw WebError(
                501, "notSupported", "the doctor cannot be asked (\(path): \(error)): see btcall-web-doctor.socket")
        }
        defer { close(descriptor) }
        let bytes: [UInt8]
        do throws(SystemError) {
            bytes = try await SocketReading.bytes(of: descriptor, atMost: WebService.largestAnswer, within: limit)
        } catch {
            guard error.code == ETIMEDOUT else { throw error }
            throw WebService.doctorTimedOut
        }
        guard !bytes.isEmpty else {
            throw WebError(
                502, "failed",
                "the doctor said nothing: it is at work for others, or see journalctl -u 'btcall-web-doctor@*'")
        }
        return bytes
    }
}
