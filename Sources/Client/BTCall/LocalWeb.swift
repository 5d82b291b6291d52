import ControlLoop
import Glibc
package import JSONText

/// A request to btcall-web on its Unix socket, where the user of this program stands in for a token.
package enum LocalWeb {
    /// Where btcall-web listens by default.
    package static let socket = "/run/btcall/web.sock"
    /// Where calls are posted.
    package static let incomingCalls = "/v1/calls/incoming"
    /// How long to wait for each step: btcall-web and btcalld may have to start first.
    private static let timeout = Duration.seconds(15)
    private static let mostBytes = 1 << 20

    /// Sends a JSON object, and waits for the answer.
    ///
    /// - Parameters:
    ///   - target: path of the request: `/v1/calls/incoming`.
    ///   - socket: path of the Unix socket.
    /// - Throws: what the answer says, or that there is none.
    package static func post(_ target: String, _ body: JSON, to socket: String) async throws(BridgeError) -> JSON {
        let text = body.text()
        let request =
            "POST \(target) HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
            + "Content-Length: \(text.utf8.count)\r\nConnection: close\r\n\r\n\(text)"
        let answer: [UInt8]
        do throws(SystemError) {
            answer = try await exchange(Array(request.utf8), socket)
        } catch {
            let remedy = [ENOENT, ECONNREFUSED].contains(error.code)
            throw BridgeError(
                error.code == ETIMEDOUT ? .timedOut : .failed,
                "btcall-web does not answer at \(socket): \(error)"
                    + (remedy ? "; install btcall-web, or start it: systemctl start btcall-web.socket" : ""))
        }
        return try result(of: answer, from: socket)
    }

    /// - Parameter answer: of HTTP/1.1, with a length.
    static func result(of answer: [UInt8], from socket: String) throws(BridgeError) -> JSON {
        let end = Array("\r\n\r\n".utf8)
        let starts = answer.indices.dropLast(end.count - 1)
        guard answer.starts(with: "HTTP/1.1 ".utf8),
            let status = Int(String(decoding: answer.prefix(12).dropFirst(9), as: UTF8.self)),
            let place = starts.first(where: { answer[$0..<($0 + end.count)].elementsEqual(end) })
        else {
            throw BridgeError(.failed, "the program at \(socket) is not btcall-web: it does not speak HTTP/1.1")
        }
        let json: JSON
        do throws(JSONError) {
            json = try JSON(reading: Array(answer[(place + end.count)...]), rules: JSONRules(bytes: mostBytes))
        } catch {
            throw BridgeError(.failed, "the program at \(socket) is not btcall-web: its answer is no JSON (\(error))")
        }
        guard status >= 300 else { return json }
        let error = json["error"]
        throw BridgeError(
            BridgeError.Code(word: error?["code"]?.stringValue ?? ""),
            error?["message"]?.stringValue ?? "btcall-web answered with status \(status)",
            name: error?["name"]?.stringValue)
    }

    @ControlPlane
    private static func exchange(_ request: [UInt8], _ socket: String) async throws(SystemError) -> [UInt8] {
        let descriptor = try await UnixStream.connect(socket, within: timeout)
        defer { close(descriptor) }
        let sent = try SystemError.check("send") {
            Int32(send(descriptor, request, request.count, Int32(MSG_NOSIGNAL)))
        }
        // A new connection has room for it.
        guard sent == request.count else { throw SystemError(call: "send", code: EMSGSIZE) }
        return try await SocketReading.bytes(of: descriptor, atMost: mostBytes, within: timeout)
    }
}
