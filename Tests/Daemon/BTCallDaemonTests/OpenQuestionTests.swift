import BTCall
import BTCallDaemon
import Configuration
import ControlLoop
import TestSupport
import Testing

extension DaemonTests {
    /// Questions about a call that a client which starts later can still read and answer.
    @Suite @ControlPlane struct OpenQuestionTests {
        /// The events of a client that starts now, up to one that is wanted.
        private func found(
            _ client: CallBridge, _ isWanted: (BridgeEvent) -> Bool
        ) async -> BridgeEvent? {
            for await event in await client.events() where isWanted(event) { return event }
            return nil
        }

        @Test func `S2.19 A media change that waits for an answer is readable, and an event for late clients`()
            async throws
        {
            try await Box.run(
                configure: { $0.mediaChange = .ask },
                body: { box in
                    let registration = try await box.register([.video])
                    let call = try await box.startCall(registration)
                    #expect(try await box.bridge.calls.list().first?.requestedMedia == nil)
                    let wanted = CallMedia(video: .sendReceive)
                    for isAccepted in [false, true] {
                        async let result = refusal { () throws(BridgeError) in
                            try await registration.requestMediaChange(of: call, video: .sendReceive)
                        }
                        try await eventually("it is readable") {
                            try await box.bridge.calls.list().first?.requestedMedia == wanted
                        }
                        let client = try await CallBridge(bus: .address("\(box.address)"))
                        let event = await found(client) { if case .mediaChangeRequested = $0 { true } else { false } }
                        #expect(event == .mediaChangeRequested(call, wanted))
                        try await client.calls.answerMediaChange(of: call, isAccepted)
                        #expect(await result?.code == (isAccepted ? nil : .accessDenied))
                        #expect(try await client.calls.list().first?.requestedMedia == nil)
                        await client.close()
                    }
                })
        }

        @Test func `S2.16 A request to record that waits for consent is readable, and an event for late clients`()
            async throws
        {
            try await Box.run(
                configure: { $0.recording = .ask },
                body: { box in
                    let registration = try await box.register()
                    let call = try await box.startCall(registration)
                    #expect(try await box.bridge.calls.list().first?.recordingRequestedBy == nil)
                    let recorder = try await CallBridge(bus: .address("\(box.address)"))
                    let tap = Task { @ControlPlane in try await recorder.audio.openTap(call: call) }
                    var asker: String?
                    try await eventually("it is readable") {
                        asker = try await box.bridge.calls.list().first?.recordingRequestedBy
                        return asker != nil
                    }
                    #expect(asker?.hasPrefix(":") == true)
                    let client = try await CallBridge(bus: .address("\(box.address)"))
                    let event = await found(client) { if case .recordingRequested = $0 { true } else { false } }
                    #expect(event == .recordingRequested(call, client: asker ?? ""))
                    try await client.audio.allowRecording(of: call)
                    _ = try await tap.value
                    #expect(try await client.calls.list().first?.recordingRequestedBy == nil)
                    await client.close()
                    await recorder.close()
                })
        }
    }
}
