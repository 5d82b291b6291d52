import BTCall
import BTCallBench
import BTCallSimulator
import BluetoothTypes
import ControlLoop

typealias PressedButton = VirtualHeadset.Button

extension Course {
    func someHeadsetOn() async {
        let off = box.headsets.filter { !box.isOn($0) }
        guard !off.isEmpty else { return }
        let headset = one(of: off)
        guard await box.switchOn(headset) else { return }
        counts.connections += 1
        tell("\(headset.name) is on")
        await sleep(between(1, 6))
    }

    func someHeadsetOff() {
        let on = box.headsets.filter { box.isOn($0) }
        guard !on.isEmpty else { return }
        let headset = one(of: on)
        tell("\(headset.name) is switched off")
        box.switchOff(headset)
    }

    /// bluetoothd notices it after some seconds.
    func someHeadsetLost() async {
        let on = box.headsets.filter { box.isOn($0) }
        guard !on.isEmpty else { return }
        let headset = one(of: on)
        tell("\(headset.name) is lost")
        counts.faults += 1
        let delay = between(3, 20)
        box.lose(headset, noticedAfter: .milliseconds(Int64(delay * 1000)))
        await sleep(delay + 0.1)
        box.switchOff(headset)
    }

    func comeAndGo() async {
        await someHeadsetOn()
        await sleep(between(5, 60))
        if chance(30) { await someHeadsetLost() } else if chance(60) { someHeadsetOff() }
    }

    /// Simulates a headset with a bad battery or at the edge of the range.
    func flap() async {
        let headset = one(of: box.headsets)
        tell("\(headset.name) flaps")
        counts.faults += 1
        for _ in 0..<(3 + random.below(6)) {
            if box.isOn(headset) {
                box.switchOff(headset)
            } else if await box.switchOn(headset) {
                counts.connections += 1
            }
            await sleep(Double(random.below(4000)) / 1000)
        }
        box.switchOff(headset)
    }

    func restartBluetooth() async {
        if chance(60) { await someHeadsetOn() }
        await bluetoothGoes(after: between(1, 60))
    }

    /// Kills bluetoothd and starts it again; sometimes it loses its headsets.
    func bluetoothGoes(after pause: Double) async {
        tell("bluetoothd is killed")
        counts.faults += 1
        box.bluez.stop(releasing: chance(30))
        if chance(70) { for headset in box.headsets where box.isOn(headset) { box.switchOff(headset) } }
        await sleep(pause)
        do {
            try await box.bluez.start()
        } catch {
            violate("the simulated bluetoothd does not start: \(error)")
        }
        await expect("the profile is registered again", within: 30) {
            box.bluez.profiles.isEmpty ? "bluetoothd has none" : nil
        }
    }

    func adapterOff() async {
        tell("the adapter is switched off")
        counts.faults += 1
        box.setPowered(false)
        await sleep(between(1, 30))
        box.setPowered(true)
        await sleep(2)
    }

    func providerDies() async {
        tell("the provider is killed")
        counts.faults += 1
        await box.killProvider()
        await sleep(between(1, 30))
        do { try await box.startProvider() } catch { violate("a provider cannot register: \(error)") }
    }

    // MARK: Settings and programs

    private static let settings: [(key: String, values: [String])] = [
        ("routing.newHeadset", ["stay", "take"]),
        ("routing.exclude", ["", "speakerphone", "bluetooth"]),
        ("routing.settleBluetoothMilliseconds", ["200", "1000", "3000"]),
        ("routing.inbandRing", ["true", "false"]),
        ("routing.ringLocal", ["true", "false"]),
        ("routing.releaseOnHold", ["true", "false"]),
        ("routing.minDwellMilliseconds", ["0", "2000"]),
        ("bluetooth.codecs", ["msbc, cvsd", "cvsd"]),
    ]

    func configure() async {
        do {
            for _ in 0..<(1 + random.below(3)) {
                let setting = one(of: Self.settings)
                let value = one(of: setting.values)
                tell("\(setting.key) = \(value)")
                counts.settings += 1
                try await box.bridge.setSetting(setting.key, to: value)
            }
            let choices = [DeviceChoice.speakerphone, .earpiece, .bluetooth, .none]
            try await box.bridge.audioDeviceManager.setAudioDevice(one(of: choices))
            try await box.bridge.audioDeviceManager.setDefaultAudio(one(of: [.earpiece, .speakerphone]))
        } catch {
            violate("a setting is refused: \(error)")
        }
        if chance(50) { await putSettingsBack() }
    }

    func putSettingsBack() async {
        do {
            for setting in Self.settings { try await box.bridge.resetSetting(setting.key) }
            try await box.bridge.audioDeviceManager.clearSelection()
            try await box.bridge.audioDeviceManager.setAudioDevice(.bluetooth)
            try await box.bridge.audioDeviceManager.setDefaultAudio(.earpiece)
        } catch {
            violate("a setting cannot be put back: \(error)")
        }
    }

    /// Deactivates and reactivates the bridge, as an application may do; its provider must register again.
    func reactivate() async {
        tell("deactivated and activated")
        counts.faults += 1
        do {
            try await box.bridge.deactivate()
            await box.killProvider()
            await sleep(between(1, 20))
            try await box.bridge.activate()
            try await box.startProvider()
        } catch {
            violate("the bridge cannot be deactivated and activated: \(error)")
        }
    }

    /// Runs programs that observe, send many requests, and leave, with or without closing in order.
    func programs() async {
        tell("programs come and go")
        do {
            for _ in 0..<(1 + random.below(4)) {
                let bridge = try await box.openBridge()
                let events = await bridge.events()
                let reader = Task { @ControlPlane in
                    var count = 0
                    for await _ in events { count += 1 }
                    return count
                }
                _ = try await bridge.status()
                _ = try await bridge.audioDeviceManager.explain()
                _ = try await bridge.audioDeviceManager.incident()
                _ = try await bridge.settings()
                _ = try await bridge.calls.log()
                await someHeadsetOn()
                await sleep(between(1, 10))
                await bridge.close()
                _ = await reader.value
            }
        } catch {
            violate("a program is refused: \(error)")
        }
    }
}
