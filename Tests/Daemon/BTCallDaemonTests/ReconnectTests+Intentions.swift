import BTCall
import BTCallBench
import BTCallDaemon
import BTCallSimulator
import BlueZ
import BluetoothSockets
import BluetoothTypes
import Configuration
import ControlLoop
import DBus
import Foundation
import HeadsetControl
import HeadsetPolicy
import TestSupport
import Testing

/// Headsets by who ended the connection, and unstable headsets.
extension DaemonTests.ReconnectTests {
    // MARK: Who ended the connection

    @Test(arguments: [true, false])
    func `A headset disconnected by hand is not paged, also after a restart, until it connects`(
        isHere: Bool
    ) async throws {
        try await inStateDirectory { directory in
            try await run(configure: Self.keeping(in: directory)) { scene in
                _ = try await scene.box.connect(Box.first)
                if isHere {
                    let error = await scene.box.error(
                        "/org/btcall/headsets/\(Box.first.pathComponent)", "org.btcall.Headset1", "Disconnect")
                    #expect(error == nil)
                } else {
                    await scene.box.bluez.requestDisconnection(Box.first)
                }
                try await scene.standing("leftAlone")
                #expect(!scene.box.log.containing("headset 1", "disconnected on purpose").isEmpty)
                let device = try await scene.box.device("bluetooth:\(Box.first)")
                #expect(device?["unavailableBecause"] == "disconnected on purpose")
                let before = scene.pages()
                try await scene.timePasses()
                try await scene.box.restartDaemon()
                try await scene.standing("leftAlone")
                try await scene.timePasses()
                #expect(scene.pages() == before && !scene.isUp())
                _ = try await scene.box.connect(Box.first)
                try await scene.standing("")
                try await scene.lose()
                try await eventually("it is paged") { scene.pages() > before }
            }
        }
    }

    @Test func `A headset that disconnected itself is paged only after the adapter was off`() async throws {
        try await run { scene in
            _ = try await scene.box.connect(Box.first)
            try await scene.lose()
            scene.say("Remote")
            try await scene.standing("leftAlone")
            // The first page may have preceded the reason.
            let before = scene.pages()
            try await scene.timePasses()
            #expect(scene.pages() == before)
            scene.box.bluez.setPowered(false)
            _ = try await scene.box.problem("adapter")
            scene.box.bluez.setPowered(true)
            try await eventually("it is paged") { scene.pages() > before }
        }
    }

    @Test func `The controller's reason for the end of a link counts where bluetoothd gives none`() async throws {
        let ends = SaidEnds()
        try await run(environment: Self.hearing(ends)) { scene in
            #expect(ends.controllers == ["hci0"])
            _ = try await scene.box.connect(Box.first)
            let before = scene.pages()
            ends.onEnd?(Box.first, 0x13)
            try await scene.lose()
            try await scene.standing("leftAlone")
            _ = try await scene.box.connect(Box.first)
            ends.onEnd?(Box.first, 0x08)
            try await scene.lose()
            try await eventually("it is paged") { scene.pages() > before }
        }
    }

    @Test func `A controller whose events cannot be read is logged`() async throws {
        let ends = SaidEnds()
        ends.failure = SystemError(call: "bind", code: 1)
        try await run(environment: Self.hearing(ends)) { scene in
            scene.box.bluez.setPowered(false)
            _ = try await scene.box.problem("adapter")
            scene.box.bluez.setPowered(true)
            try await scene.box.noProblem("adapter")
            let lines = scene.box.log.containing("the reasons of disconnections are not available on hci0", "bind")
            #expect(!lines.isEmpty && lines.count <= 2)
        }
    }

    // MARK: Unstable headsets

    @Test func `An unstable headset is quarantined, reported, and paged again afterwards`() async throws {
        let short: (inout Configuration) -> Void = {
            $0.reconnect.losses = 3
            // Five seconds.
            $0.reconnect.quarantineSeconds = 100
        }
        try await run(configure: short) { scene in
            for _ in 0..<3 {
                _ = try await scene.box.connect(Box.first)
                try await scene.lose()
            }
            let problem = try await scene.box.problem("reconnect.\(Box.first)")
            #expect(problem.what == "headset 1 has come and gone 3 times in two minutes: it is left alone")
            try await scene.standing("quarantined")
            let before = scene.pages()
            try await scene.box.noProblem("reconnect.\(Box.first)")
            try await eventually("it is paged") { scene.pages() > before }
        }
    }
}
