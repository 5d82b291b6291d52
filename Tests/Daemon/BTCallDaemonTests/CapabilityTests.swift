import BTCall
import BTCallAPI
import BTCallDaemon
import ControlLoop
import Foundation
import TestSupport
import Testing

extension DaemonTests {
    /// The table of capabilities and methods on the page of `CallProvider1`, compared with what the daemon does.
    @Suite @ControlPlane struct CapabilityTests {
        private typealias Capability = CallProviderDescription.Capability

        /// Capability and method of each row.
        private nonisolated static func rows() throws -> [String: String] {
            let page = try String(
                contentsOf: Page.root.appending(path: "dbus/org.btcall.CallProvider1.md"), encoding: .utf8)
            let table = page.components(separatedBy: "| capability | method |").last ?? ""
            var rows: [String: String] = [:]
            for line in table.split(separator: "\n").drop(while: { !$0.hasPrefix("| `") }) {
                guard line.hasPrefix("| `") else { break }
                let words = line.split(separator: "`", omittingEmptySubsequences: false)
                if words.count > 3 { rows[String(words[1])] = String(words[3]) }
            }
            return rows
        }

        private func method(_ request: Telephone.Request) -> String? {
            switch request {
            case .start: BTCallName.CallProvider.performStart
            case .held: BTCallName.CallProvider.performSetHeld
            case .tones: BTCallName.CallProvider.performDTMF
            case .muted: BTCallName.CallProvider.performSetMuted
            case .swap: BTCallName.CallProvider.performSwap
            case .conference: BTCallName.CallProvider.performConference
            case .talk: BTCallName.CallProvider.performTalk
            case .media: BTCallName.CallProvider.performMediaChange
            case .answer, .end, .audio, .released: nil
            }
        }

        /// Makes the request that needs a capability, on existing calls.
        private func request(_ capability: Capability, _ box: Box, _ calls: [Call.ID]) async throws(BridgeError) {
            switch capability {
            case .hold: try await box.bridge.calls.setHeld(calls[0], true)
            case .swap: try await box.bridge.calls.swap()
            case .conference: try await box.bridge.calls.conference()
            case .dtmf: try await box.bridge.calls.sendDTMF(calls[0], tones: "12#")
            case .mute: try await box.bridge.calls.setMuted(true)
            case .talk: try await box.bridge.calls.setTalk(true)
            case .dial: _ = try await box.bridge.calls.place("5550100")
            case .video: try await box.bridge.calls.setMedia(of: calls[0], video: .sendReceive)
            }
        }

        /// The requests to the application, and whether the caller's request was refused.
        private func asked(
            _ capability: Capability, having capabilities: Set<Capability>
        ) async throws -> (methods: Set<String>, isRefused: Bool) {
            var methods: Set<String> = []
            var isRefused = false
            let mode = capability == .talk ? "push" : "off"
            try await Box.run { box in
                try await box.bridge.setSetting("talk.mode", to: mode)
                let registration = try await box.register(capabilities)
                // A dialled call needs no other call to be held.
                var calls = capability == .dial ? [] : [try await box.startCall(registration)]
                if capability == .swap || capability == .conference {
                    // With the capability hold the application's calls coexist.
                    try await registration.update(calls[0], .held)
                    calls.append(try await box.startCall(registration))
                }
                let before = box.telephone.requests.count
                isRefused = await refusal { () throws(BridgeError) in try await request(capability, box, calls) } != nil
                if capability == .mute, capabilities.contains(.mute) {
                    try await eventually("the application is notified") {
                        box.telephone.requests.contains(.muted(calls[0], true))
                    }
                }
                methods = Set(box.telephone.requests.dropFirst(before).compactMap(method))
            }
            return (methods, isRefused)
        }

        @Test func `the page lists every capability with the method that the daemon calls only with it`() async throws {
            let rows = try Self.rows()
            #expect(Set(rows.keys) == Set(Capability.allCases.map(\.rawValue)))
            for capability in Capability.allCases {
                let needed: Set<Capability> = capability == .swap || capability == .conference ? [.hold] : []
                let with = try await asked(capability, having: needed.union([capability]))
                let method = try #require(rows[capability.rawValue])
                #expect(with.methods == [method], "\(capability)")
                #expect(!with.isRefused, "\(capability)")
                let without = try await asked(capability, having: needed)
                #expect(!without.methods.contains(method), "\(capability)")
                // The daemon mutes and opens the microphone on its own, and swaps by holding.
                let alone: Set<Capability> = [.mute, .swap, .talk]
                #expect(without.isRefused == !alone.contains(capability), "\(capability)")
            }
        }
    }
}
