import BTCall
import BTCallAPI
import BTCallDaemon
import Configuration
import ControlLoop
import DBus
import Foundation
import TestSupport
import Testing

extension DaemonTests {
    /// `Manager1.ReportCameraUse`: the privacy light covers cameras, too.
    @Suite @ControlPlane struct CameraUseTests {
        private func run(_ body: (Box, FakeLight) async throws -> Void) async throws {
            let light = try FakeLight()
            try await Box.run(
                configure: { $0.privacyOutput = light.specification }, body: { box in try await body(box, light) })
            // The daemon has ended.
            #expect(try light.read("brightness") == "0")
        }

        private func shows(_ box: Box, _ isInUse: Bool, _ light: FakeLight) async throws {
            try await eventually("the camera is \(isInUse ? "in use" : "not in use")") {
                let output = try await box.bridge.audio.privacyOutput()
                return try await box.bridge.isCameraInUse() == isInUse && output == (isInUse ? .on : .off)
            }
            #expect(try light.read("brightness") == (isInUse ? "255" : "0"))
        }

        @Test func `the privacy light is on while a program says that it captures`() async throws {
            try await run { box, light in
                try await shows(box, false, light)
                try await box.bridge.reportCameraUse(true)
                try await shows(box, true, light)
                // Said twice, and taken back once.
                try await box.bridge.reportCameraUse(true)
                try await box.bridge.reportCameraUse(false)
                try await shows(box, false, light)
                try await box.bridge.reportCameraUse(false)
                try await shows(box, false, light)
                // The daemon ends while it is in use.
                try await box.bridge.reportCameraUse(true)
                try await shows(box, true, light)
            }
        }

        @Test func `a report ends with its program, and not with another one's`() async throws {
            try await run { box, light in
                let other = try await CallBridge(bus: .address("\(box.address)"))
                try await other.reportCameraUse(true)
                try await box.bridge.reportCameraUse(true)
                try await box.bridge.reportCameraUse(false)
                try await shows(box, true, light)
                await other.close()
                try await shows(box, false, light)
            }
        }

        @Test func `the change is signalled, and the light stays on while a microphone is heard`() async throws {
            try await run { box, light in
                var heard: [String] = []
                for (path, name) in [
                    (BTCallPath.manager, BTCallName.Manager.cameraInUse), (BTCallPath.audio, "PrivacyOutput"),
                ] {
                    box.client.subscribe(sender: BTCallName.bus, path: path, member: "PropertiesChanged") { signal in
                        let values = signal.arguments.count > 1 ? signal.arguments[1].vardictValue : nil
                        guard let value = values?[name] else { return }
                        heard.append(value.boolValue.map { "\(name) \($0)" } ?? name)
                    }
                }
                _ = try await box.client.owner(of: BTCallName.bus)
                try await box.prefer(.earpiece)
                let registration = try await box.register()
                let call = try await box.startCall(registration)
                try await eventually("the microphone is heard") { try await box.bridge.audio.isMicrophoneInUse() }
                try await box.bridge.reportCameraUse(true)
                try await box.bridge.reportCameraUse(false)
                try await eventually("the signals have come") { heard.contains("CameraInUse false") }
                #expect(heard == ["PrivacyOutput", "CameraInUse true", "CameraInUse false"])
                #expect(try light.read("brightness") == "255")
                try await registration.update(call, .ended)
                try await shows(box, false, light)
            }
        }

        @Test func `too many programs are refused`() async throws {
            try await Box.run { box in
                var programs: [BusConnection] = []
                defer { for program in programs { program.close() } }
                func report(_ program: BusConnection) async throws(BusError) {
                    _ = try await program.call(
                        BTCallName.bus, BTCallPath.manager, BTCallName.Interface.manager,
                        BTCallName.Manager.reportCameraUse, [.bool(true)])
                }
                for _ in 0..<32 {
                    let program = try BusConnection(box.address)
                    programs.append(program)
                    try await report(program)
                }
                do throws(BusError) {
                    try await report(box.client)
                    Issue.record("it was accepted")
                } catch {
                    #expect(error.name == "org.btcall.Error.WrongState", "\(error)")
                }
                // Who reports already may repeat it.
                try await report(programs[0])
                programs.removeLast().close()
                try await eventually("there is room again") {
                    do throws(BusError) {
                        try await report(box.client)
                        return true
                    } catch {
                        return false
                    }
                }
            }
        }
    }
}
