import AudioPaths
import BTCallAPI
import BTCallDaemon
import CallControl
import Configuration
import ControlLoop
import TestSupport
import Testing

extension DaemonTests {
    @Suite @ControlPlane struct TapConsentTests {
        @Test func `A program allowed to record just before recording was denied to everybody does not record`()
            async throws
        {
            try await Box.run { box in
                let registration = try await box.register()
                _ = try await box.startCall(registration)
                let path = try #require(box.daemon.calls.calls.first?.path)
                let taps = CallTaps(
                    graph: box.daemon.graph, calls: box.daemon.calls, consent: .ask, consentTimeout: .seconds(60),
                    logger: box.log.logger)
                var isAsked = false
                taps.events.subscribe { event in if case .requested = event { isAsked = true } }
                let opening = Task { @ControlPlane () -> APIError? in
                    do throws(APIError) {
                        _ = try await taps.open(path, TapOptions(), of: ":1.1000")
                        return nil
                    } catch {
                        return error
                    }
                }
                try await eventually("a client is asked") { isAsked }
                // Before the waiting task has resumed.
                try taps.allow(path, true, from: ":1.1001")
                taps.consent = .deny
                #expect(await opening.value?.code == .accessDenied)
                #expect(box.daemon.calls.record(at: path)?.isRecorded == false)
            }
        }
    }
}
