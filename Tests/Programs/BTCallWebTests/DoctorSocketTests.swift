import ControlLoop
import Foundation
import Glibc
import Testing

@testable import btcall_web

/// The socket of the doctor's unit, as systemd serves it: a program for each connection.
@Suite @ControlPlane struct DoctorSocketTests {
    private let path = FileManager.default.temporaryDirectory.appending(path: "doctor-\(UUID().uuidString)").path()

    /// - Parameter serve: owns each connection.
    private func listening(
        _ serve: @escaping @ControlPlane (Int32) -> Void, _ body: () async throws -> Void
    ) async throws {
        let descriptor = try ListeningSockets.open(path: path)
        let listener = try Listener(descriptor, "doctor", logger: nil, onAccept: serve)
        let result: Result<Void, any Error>
        do {
            try await body()
            result = .success(())
        } catch {
            result = .failure(error)
        }
        listener.cancel()
        close(descriptor)
        unlink(path)
        try result.get()
    }

    private func refusal(within limit: Duration = .seconds(30)) async -> WebError? {
        do {
            _ = try await DoctorSocket.report(at: path, within: limit)
            return nil
        } catch {
            return error as? WebError
        }
    }

    @Test func `the findings are what arrives until the end`() async throws {
        let report = [UInt8](repeating: 0x61, count: 100_000)
        try await listening { descriptor in
            var sent = 0
            var source: DescriptorSource?
            // Without it nothing is sent, and the report differs.
            source = try? ControlLoop.shared.add(descriptor, .writable) { _ in
                sent += max(0, send(descriptor, Array(report[sent...]), report.count - sent, Int32(MSG_NOSIGNAL)))
                guard sent == report.count else { return }
                source?.cancel()
                close(descriptor)
            }
        } _: {
            let found = try await DoctorSocket.report(at: path)
            #expect(found == report)
        }
    }

    @Test func `without its socket there are no findings, and one that says nothing or does not end is named`()
        async throws
    {
        let found = try await DoctorSocket.report(at: path)
        #expect(found == nil)
        try await listening {
            close($0)
        } _: {
            #expect(await refusal()?.status == 502)
        }
        var held: [Int32] = []
        try await listening {
            held.append($0)
        } _: {
            #expect(await refusal(within: .milliseconds(50))?.code == "timedOut")
        }
        for descriptor in held { close(descriptor) }
    }
}
