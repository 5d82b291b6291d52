import BTCall
import ControlLoop
import Testing

extension DaemonTests {
    /// Swift samples of docs/applications, word for word.
    @Suite(.serialized) @ControlPlane struct ApplicationSampleTests {
        @Test func `A program configures the audio as the page shows it`() async throws {
            try await Box.run { box in
                let bridge = box.bridge
                let configuration = try await bridge.configureAudioSession { device, settings in
                    settings.periodMilliseconds = 10
                    settings.allowsBluetooth = true
                }
                try await box.prefer(.earpiece)
                let registration = try await box.register()
                _ = try await box.startCall(registration)
                try await box.playing("earpiece")
                try await configuration.end()
            }
        }

        @Test func `A program takes the log as the page shows it`() async throws {
            try await Box.run { _ in
                CallBridge.logMessageCallback = { module, message, level, context in
                    if level >= .warning { print("\(module): \(message)") }
                }
                CallBridge.logMessageCallback = nil
            }
        }
    }
}
