import ArgumentParser
import BTCallSimulator
import BluetoothSockets
import BluetoothTypes
import CommandKit
import CommandTestSupport
import ControlLoop
import DBus
import Foundation
import Testing

@testable import BTCallCommand

@Suite(.timeLimit(.minutes(2))) struct DoctorTests {
    private func report(_ fixture: DoctorFixture, _ checks: [String] = []) -> DoctorReport {
        DoctorReport(DoctorCheck.all.filter { checks.isEmpty || checks.contains($0.id) }, on: fixture.system)
    }

    @Test func `On a faultless machine every check is silent`() throws {
        let report = report(try DoctorFixture())
        #expect(report.findings == [])
        #expect(report.exitCode == 0)
        #expect(report.summary == "\(DoctorCheck.all.count) checks, 0 faults, 0 warnings, 0 notes")
        // No modem, nothing on a serial port: the only things missing on this machine.
        let skipped = report.results.compactMap { check, outcome in
            if case .skipped(let reason) = outcome { "\(check.id): \(reason)" } else { nil }
        }
        #expect(skipped == ["modem-manager: no controller is on a serial port"])
    }

    @Test func `Of btcall-video without a fault the doctor says only what it does not do`() throws {
        let fixture = try DoctorFixture()
        try fixture.startVideo()
        #expect(report(fixture).findings.map(\.check) == ["video-scope"])
        // A remedy for each stage of a missing node.
        try fixture.remove("/dev/video-btcall")
        #expect(report(fixture, ["video-output"]).findings.first?.remedy.hasPrefix("install v4l2loopback-dkms") == true)
        try fixture.write("/sys/module/v4l2loopback/version", "0.12.7\n")
        #expect(report(fixture, ["video-output"]).findings.first?.remedy.hasPrefix("give the node its name") == true)
        // A background that is off needs no plugin.
        try fixture.remove("/usr/lib/x86_64-linux-gnu/gstreamer-1.0/libgstopencv.so")
        #expect(report(fixture, ["video-plugins"]).findings.isEmpty)
    }

    @Test(arguments: DoctorProvocation.all)
    func `Each fault is detected by its check`(provocation: DoctorProvocation) throws {
        let fixture = try DoctorFixture()
        try provocation.provoke(fixture)
        let findings = report(fixture, [provocation.check]).findings
        let finding = try #require(findings.first { $0.what.contains(provocation.says) }, "\(findings)")
        #expect(finding.severity == provocation.severity)
        #expect(!finding.seen.isEmpty && !finding.remedy.isEmpty)
        #expect(!finding.seen.contains(fixture.root.path()))
    }

    @Test func `Every check has a provocation with its worst severity, or worse`() {
        for check in DoctorCheck.all {
            let provocations = DoctorProvocation.all.filter { $0.check == check.id }
            #expect(!provocations.isEmpty, "nothing provokes \(check.id)")
            #expect(provocations.contains { $0.severity == check.severity }, "\(check.id) is never a \(check.severity)")
        }
        let ids = DoctorCheck.all.map(\.id)
        #expect(Set(ids).count == ids.count)
        #expect(ids.count >= 40)
        for id in ids { #expect(id.allSatisfy { $0.isLowercase || $0 == "-" }, "\(id)") }
    }

    @Test func `A connected headset with btcalld, or an absent headset, is no finding`() throws {
        let fixture = try DoctorFixture()
        fixture.setHeadset("Connected", false)
        fixture.setHeadset("ServicesResolved", false)
        #expect(report(fixture).findings == [])
        // Nor a headset that connected on its own: bluetoothd does not query its services again.
        fixture.setHeadset("Connected", true)
        #expect(report(fixture).findings == [])
    }

    @Test func `A sound card that is shared, or open in btcalld, is not busy`() throws {
        let fixture = try DoctorFixture()
        try fixture.start("aplay", 907)
        try fixture.write("/proc/asound/card1/pcm0p/sub0/status", "owner_pid   : 907\n")
        #expect(report(fixture, ["sound-device-busy"]).count(.fault) == 1)
        // Another substream is free.
        try fixture.write("/proc/asound/card1/pcm0p/sub1/status", "closed\n")
        #expect(report(fixture, ["sound-device-busy"]).findings == [])
        try fixture.remove("/proc/asound/card1/pcm0p/sub1")
        try fixture.append("/etc/btcall/btcalld.conf", "[audio]\nmixWithOthers = yes\n")
        #expect(report(fixture, ["sound-device-busy"]).findings == [])
    }

    @Test func `Capabilities replace limits, and root needs no groups`() throws {
        let fixture = try DoctorFixture()
        let status = "/proc/\(DoctorFixture.daemon)/status"
        try fixture.write("/proc/\(DoctorFixture.daemon)/limits", "Max realtime priority     0    0\n")
        try fixture.write("/etc/group", "audio:x:30:\nbtcall:x:998:\n")
        #expect(report(fixture).findings.map(\.check) == ["daemon-groups", "realtime-limit"])
        try fixture.write(status, "Uid:\t0\t0\t0\t0\nGroups:\t\nCapEff:\t000001ffffffffff\n")
        #expect(report(fixture).findings == [])
    }

    @Test func `The worst finding comes first, and the exit code is 1 with a fault only`() throws {
        let fixture = try DoctorFixture()
        fixture.setHeadset("Trusted", false)
        fixture.user.groups = []
        let mild = report(fixture)
        #expect(mild.findings.map(\.severity) == [.warning, .note])
        #expect(mild.exitCode == 0)
        fixture.setAdapter("Powered", false)
        let worse = report(fixture)
        #expect(worse.findings.map(\.check) == ["adapter-off", "headset-untrusted", "user-group"])
        #expect(worse.exitCode == 1)
        #expect(
            worse.lines(showsAll: false, in: .plain).prefix(4) == [
                "fault: the adapter hci0 is off [adapter-off]",
                "  seen: Powered of /org/bluez/hci0 is false",
                "  do:   switch it on; AutoEnable=true in /etc/bluetooth/main.conf does so at each start",
                "        bluetoothctl power on",
            ])
    }

    @Test func `JSON contains every check and every finding`() throws {
        let fixture = try DoctorFixture()
        fixture.setHeadset("Blocked", true)
        let capture = Capture()
        let command = try #require(try Entry.command(for: ["doctor", "--json"]) as? DoctorCommand)
        #expect(command.examine(fixture.system, capture.sink) == 0)
        let run = CommandRun(status: 0, output: capture.output, errors: "")
        let checks = try #require(run.object["checks"] as? [[String: Any]])
        #expect(checks.compactMap { $0["id"] as? String } == DoctorCheck.all.map(\.id))
        #expect(checks.first { $0["id"] as? String == "headset-blocked" }?["outcome"] as? String == "warning")
        let findings = try #require(run.object["findings"] as? [[String: Any]])
        #expect(findings.count == 1)
        #expect(findings.first?["command"] as? String == "bluetoothctl unblock \(DoctorFixture.headset)")
        #expect(run.object["faults"] as? Int == 0 && run.object["warnings"] as? Int == 1)
    }

    @Test func `A report for an issue describes the machine without addresses and names`() throws {
        let fixture = try DoctorFixture()
        fixture.setHeadset("Trusted", false)
        let capture = Capture()
        let command = try #require(try Entry.command(for: ["doctor", "--report"]) as? DoctorCommand)
        #expect(command.examine(fixture.system, capture.sink) == 0)
        let text = capture.output
        for part in [
            "Linux 6.12.30-amd64, bluetoothd 5.82, Debian GNU/Linux 13", "adapter hci0: USB, made by company 2",
            "alternate settings 1 2 6", "sound card 0: Device", "00:00:5E:xx:xx:xx (NAME) is paired and not trusted",
            "dev_00_00_5E_xx_xx_xx", "checks, 0 faults, 1 warning, 0 notes",
        ] {
            #expect(text.contains(part), "\(part)")
        }
        for secret in ["Jane", "53:01", "53_01"] { #expect(!text.contains(secret), "\(secret)") }
    }

    @Test func `Only the named checks are run, and an unknown one is refused with the closest names`() throws {
        let command = try #require(try Entry.command(for: ["doctor", "adapter-off", "--all"]) as? DoctorCommand)
        let capture = Capture()
        #expect(command.examine(try DoctorFixture().system, capture.sink) == 0)
        #expect(capture.output == "CHECK        OUTCOME\nadapter-off  ok\n\n1 check, 0 faults, 0 warnings, 0 notes\n")
        do {
            _ = try Entry.command(for: ["doctor", "adapter-of"])
            Issue.record("adapter-of is accepted")
        } catch {
            #expect(Entry.message(for: error).contains("did you mean adapter-off?"))
            #expect(Entry.exitCode(for: error).rawValue == 64)
        }
    }

    @Test func `The real reader examines any machine, and a bus without services`() async throws {
        let bus = try PrivateBus()
        let system = await DoctorSystem.machine(bus: .address(bus.address))
        #expect(system.kernel != nil)
        #expect(system.bus.failure == nil)
        let report = DoctorReport(DoctorCheck.all, on: system)
        let checks = Set(report.findings.map(\.check))
        #expect(checks.isSuperset(of: ["bluetoothd-missing", "btcalld-missing"]))
        #expect(checks.contains("adapter-missing") == system.controllerNames.isEmpty)
        #expect(report.exitCode == 1)
        #expect(report.issueText(on: system).contains("btcalld not running"))
        let away = await DoctorSystem.machine(bus: .address("unix:path=/nonexistent/bus"))
        #expect(DoctorReport(DoctorCheck.all, on: away).findings.contains { $0.check == "bus-unreachable" })
    }

    @Test @ControlPlane
    func `The real reader gets adapters and headsets from org.bluez, and the processes behind names`()
        async throws
    {
        let bus = try PrivateBus()
        let blueZ = FakeBlueZ(on: .address(bus.address))
        try await blueZ.start()
        defer { blueZ.stop() }
        let address = BluetoothAddress(value: 0x00_00_5E_00_53_01)
        blueZ.addAdapter(address: BluetoothAddress(value: 0x00_1B_DC_07_00_01), powered: false)
        blueZ.addHeadset(address, name: "Jane's", properties: ["Trusted": false])
        // Files of its own: the adapter's directory, and cards that are not in use.
        let fixture = try DoctorFixture()
        try fixture.write("/proc/asound/card0/pcm0c/sub0/status", "closed\n")
        var system = fixture.system
        system.bus = await DoctorBus.read(.address(bus.address))
        #expect(system.adapters.map(\.controller) == ["hci0"])
        #expect(system.pairedHeadsets.map(\.address) == [address.description])
        #expect(system.bus.peers.contains { $0.name == "org.bluez" && $0.process == Int(getpid()) })
        let findings = DoctorReport(DoctorCheck.all, on: system).findings
        #expect(findings.map(\.check) == ["adapter-off", "btcalld-missing", "btcalld-activation", "headset-untrusted"])
    }

    @Test func `A fault that the distribution has mended is no finding, and a row of the administrator counts`() throws
    {
        let fixture = try DoctorFixture()
        fixture.bluetoothd = "5.87"
        let names = { report(fixture, ["stack"]).findings.map(\.seen).filter { $0.contains("issues/1963") }.count }
        #expect(names() == 1)
        try fixture.write("/usr/bin/dpkg-query", "")
        try fixture.write("/etc/os-release", "ID=fedora\n")
        fixture.bluez = "5.87-5"
        #expect(names() == 1)
        fixture.bluez = "5.87-6"
        #expect(names() == 0)
        // Another one's mending says nothing of this one's package.
        try fixture.write("/etc/os-release", "ID=debian\n")
        #expect(names() == 1)
        try fixture.write(
            "/etc/btcall/stack.conf",
            "[stack]\nformat = 1\n[fault earbuds-refused-5-84]\nenabled = no\n[fault ours]\nprogram = kernel\n"
                + "versions = 6.12\nsymptom = hums\nremedy = whistle\nreference = ticket 12\n")
        #expect(names() == 0)
        let ours = try #require(report(fixture, ["stack"]).findings.first { $0.seen.contains("ticket 12") })
        #expect(ours.what == "Linux 6.12.30-amd64 hums" && ours.remedy == "whistle" && ours.severity == .warning)
    }

    @Test func `A container that lacks nothing has no finding, and its btcalld is found by its name`() throws {
        let fixture = try DoctorFixture()
        try fixture.makeContainer()
        // The bus numbers processes as the machine does: number 500 is somebody else here.
        #expect(report(fixture).findings == [])
        #expect(fixture.system.daemon?.id == DoctorFixture.daemon)
        #expect(fixture.system.processesOnBus.isEmpty)
        try fixture.write("/proc/\(DoctorFixture.daemon)/comm", "other\n")
        #expect(fixture.system.daemon == nil)
    }

    @Test func `The former names of the check of the stack are accepted`() throws {
        for name in ["bluetoothd-version", "kernel-version"] {
            let command = try #require(try Entry.command(for: ["doctor", name]) as? DoctorCommand)
            #expect(command.checks == ["stack"])
        }
    }

    @Test func `A frequency is read in the format of the wireless extensions`() {
        var request = [UInt8](repeating: 0, count: 32)
        request.replaceSubrange(16..<20, with: [0x34, 0x0F, 0x91, 0x00])
        request[20] = 0
        // A channel number.
        request.replaceSubrange(16..<20, with: [6, 0, 0, 0])
        #expect(DoctorSystem.megahertz(request) == nil)
        // 2437 and six zeros.
        request.replaceSubrange(16..<22, with: [0x85, 0x09, 0, 0, 6, 0])
        #expect(DoctorSystem.megahertz(request) == 2437)
        #expect(DoctorSystem.megahertz([1, 2]) == nil)
    }
}
