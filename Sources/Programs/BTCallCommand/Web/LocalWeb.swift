import BTCall
import CommandKit
import ControlLoop
import Glibc
import JSONText

/// A request to btcall-web on its Unix socket, where the user of this program stands in for a token.
struct LocalWeb {
    /// Where btcall-web listens by default.
    static let socket = "/run/btcall/web.sock"
    /// How long to wait for each step: btcall-web and btcalld may have to start first.
    private static let patience = Duration.seconds(15)
    private static let mostBytes = 1 << 20

    let path: String

    /// Sends a JSON object, and waits for the answer.
    ///
    /// - Parameter target: path of the request: `/v1/calls/incoming`.
    /// - Throws: ``CommandFailure``, or `BridgeError` if btcall-web has no btcalld: what the answer says.
    func post(_ target: String, _ body: JSON) throws -> JSON {
        let text = body.text()
        let request =
            "POST \(target) HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
            + "Content-Length: \(text.utf8.count)\r\nConnection: close\r\n\r\n\(text)"
        let answer: [UInt8]
        do throws(SystemError) {
            answer = try exchange(Array(request.utf8))
        } catch {
            let remedy = [ENOENT, ECONNREFUSED].contains(error.code)
            throw CommandFailure(
                "btcall-web does not answer at \(path): \(error)"
                    + (remedy ? "; install btcall-web, or start it: systemctl start btcall-web.socket" : ""))
        }
        return try Self.result(of: answer, from: path)
    }

    /// - Parameter answer: of HTTP/1.1, with a length.
    static func result(of answer: [UInt8], from path: String) throws -> JSON {
        let end = Array("\r\n\r\n".utf8)
        let starts = answer.indices.dropLast(end.count - 1)
        guard answer.starts(with: "HTTP/1.1 ".utf8),
            let status = Int(String(decoding: answer.prefix(12).dropFirst(9), as: UTF8.self)),
            let place = starts.first(where: { answer[$0..<($0 + end.count)].elementsEqual(end) })
        else { throw CommandFailure("the program at \(path) is not btcall-web: it does not speak HTTP/1.1") }
        let json: JSON
        do throws(JSONError) {
            json = try JSON(reading: Array(answer[(place + end.count)...]), rules: JSONRules(bytes: mostBytes))
        } catch {
            throw CommandFailure("the program at \(path) is not btcall-web: its answer is no JSON (\(error))")
        }
        guard status < 300 else { throw failure(json["error"], status) }
        return json
    }

    private static func failure(_ error: JSON?, _ status: Int) -> any Error {
        let code = error?["code"]?.stringValue ?? ""
        let message = error?["message"]?.stringValue ?? "btcall-web answered with status \(status)"
        switch code {
        case "notRunning": return BridgeError(.notRunning, message)
        case "noBus": return BridgeError(.noBus, message)
        default: return CommandFailure(.init(rawValue: code) ?? .failed, name: error?["name"]?.stringValue, message)
        }
    }

    private func exchange(_ request: [UInt8]) throws(SystemError) -> [UInt8] {
        let descriptor = try UnixStream.connect(path, within: Self.patience)
        defer { close(descriptor) }
        var answer: [UInt8] = []
        do throws(SystemError) {
            _ = try SystemError.check("send") {
                Int32(send(descriptor, request, request.count, Int32(MSG_NOSIGNAL)))
            }
            var piece = [UInt8](repeating: 0, count: 4096)
            while answer.count < Self.mostBytes {
                let count = try SystemError.check("recv") { Int32(recv(descriptor, &piece, piece.count, 0)) }
                if count == 0 { break }
                answer += piece[..<Int(count)]
            }
        } catch {
            guard error.code == EAGAIN else { throw error }
            throw SystemError(call: error.call, code: ETIMEDOUT)
        }
        return answer
    }
}
