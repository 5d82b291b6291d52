import AudioPaths
import BTCall
import BTCallAPI
import BTCallBench
import BTCallDaemon
import BTCallSimulator
import BluetoothTypes
import CBTCall
import Configuration
import ControlLoop
import Diagnostics
import Foundation
import Glibc
import Routing
import TestSupport
import Testing

extension DaemonTests {
    @Suite @ControlPlane struct MetricsTests {
        private let first = Choice("bluetooth:\(Box.first)") ?? .none

        private func metrics(_ box: Box) async throws -> OpenMetricsReader {
            try OpenMetricsReader(try await box.bridge.metrics())
        }

        @Test func `Calls, links and routes are counted, and a device's counts remain when it goes`() async throws {
            try await Box.run { box in
                #expect(try await metrics(box).value("btcall_bluetoothd_up") == 1)
                _ = try await box.connect(Box.first, codecs: [.mSBC, .cvsd])
                try await box.prefer(first)
                let registration = try await box.register()
                let call = try await box.startCall(registration)
                try await box.playing("headset 1")
                let during = try await metrics(box)
                #expect(try during.value("btcall_calls") == 1)
                #expect(try during.value("btcall_headsets") == 1)
                #expect(try during.value("btcall_route", ["btcall_route": "headset"]) == 1)
                #expect(try during.value("btcall_route", ["btcall_route": "earpiece"]) == 0)
                let codec = try #require(box.daemon.graph.codec(ofLink: Box.first))
                #expect(try during.value("btcall_link_setups", ["codec": "\(codec)", "result": "up"]) == 1)
                let packets = try during.value("btcall_audio_packets_received", ["device": "headset"])
                #expect(packets > 0)
                box.bluez.disconnect(Box.first)
                try await box.route(.earpiece)
                try await registration.update(call, .ended)
                try await eventually("the call has ended") { try await box.bridge.calls.list().isEmpty }
                let after = try await metrics(box)
                #expect(try after.value("btcall_audio_packets_received", ["device": "headset"]) >= packets)
                #expect(try after.value("btcall_calls_ended", ["reason": "remoteHangUp"]) == 1)
                #expect(try after.value("btcall_calls_answered_seconds") > 0)
                #expect(try after.value("btcall_calls") == 0)
                #expect(try after.value("btcall_headsets") == 0)
                #expect(try after.value("btcall_route_changes", ["reason": "callStarted"]) >= 1)
                box.bluez.stop()
                try await eventually("bluetoothd is seen to go") {
                    try await metrics(box).value("btcall_bluetoothd_up") == 0
                }
                try await box.bluez.start()
                try await eventually("bluetoothd is counted again") {
                    try await metrics(box).value("btcall_bluetoothd_appearances") == 2
                }
                let shown = try await Program(box.address)("metrics")
                #expect(shown.status == 0 && shown.text.hasSuffix("# EOF\n"))
                _ = try OpenMetricsReader(shown.text)
            }
        }
    }
}
