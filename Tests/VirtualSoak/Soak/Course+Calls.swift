import BTCall
import BTCallBench
import BTCallSimulator
import BluetoothTypes
import ControlLoop
import Routing

extension Course {
    /// Makes one call from its first ring to its end, with events during it.
    func call() async {
        if chance(60) { await someHeadsetOn() }
        if chance(15) { await headsetMisbehaves() }
        do {
            guard let call = try await chance(60) ? incoming() : outgoing() else {
                return await endOfMisbehaviour()
            }
            await talk(call)
            try await hangUp(call)
        } catch {
            violate("a request of a call failed: \(error)")
        }
        await endOfMisbehaviour()
        box.provider.stop()
    }

    /// - Returns: nil when it was not answered.
    private func incoming() async throws -> Call.ID? {
        guard let registration = box.registration else { return nil }
        counts.calls += 1
        let call = try await registration.reportIncoming(
            number: "+4930\(100_000 + random.below(900_000))", name: chance(50) ? "Somebody" : nil)
        tell("call \(call) rings")
        if let leak { await leak.hold(box) }
        await sleep(between(2, 20))
        if box.provider.manner != .willing {
            await expectRefusal { try await self.box.bridge.calls.answer(call) }
        }
        switch random.below(10) {
        case 0..<4:
            if await press(.answer) {
                counts.buttons += 1
                return await expect("the button answers", within: 15) {
                    try await state(call) == .active ? nil : "it rings"
                }
                    ? call : call
            }
            try await box.bridge.calls.answer(call)
            return call
        case 4..<7:
            try await box.bridge.calls.answer(call)
            return call
        case 7:
            tell("rejected")
            try await box.bridge.calls.hangup(call)
        case 8:
            if await press(.hangUp) {
                counts.buttons += 1
                tell("rejected with the button")
                await expect("the button rejects", within: 15) { try await state(call) == nil ? nil : "it rings" }
            } else {
                try await registration.update(call, .ended, reason: .missed)
            }
        default:
            tell("missed")
            try await registration.update(call, .ended, reason: .missed)
        }
        return nil
    }

    private func outgoing() async throws -> Call.ID? {
        guard let registration = box.registration else { return nil }
        if box.provider.manner != .willing {
            await expectRefusal { _ = try await self.box.bridge.calls.place("+4930555555") }
        }
        counts.calls += 1
        let call: Call.ID
        if chance(50) {
            call = try await box.bridge.calls.place("+4930\(100_000 + random.below(900_000))")
            _ = box.provider.takeDialled()
        } else {
            call = try await registration.reportOutgoing(number: "+4930123456")
        }
        tell("call \(call) goes out")
        if let leak { await leak.hold(box) }
        await sleep(between(1, 5))
        try await registration.update(call, .alerting)
        await sleep(between(2, 20))
        if chance(20) {
            tell("busy")
            try await registration.update(call, .ended, reason: .busy)
            return nil
        }
        try await registration.update(call, .active)
        return call
    }

    private func talk(_ call: Call.ID) async {
        await expectAudio(of: call)
        let length = chance(5) ? between(60, 180) : between(3, 20)
        let end = seconds + length
        counts.talkSeconds += Int(length)
        tell("talks for \(Int(length)) s")
        while seconds < end {
            await sleep(min(between(1, 15), max(0.1, end - seconds)))
            guard seconds < end, chance(70) else { continue }
            await duringCall(call)
            await expectAudio(of: call)
        }
    }

    private func hangUp(_ call: Call.ID) async throws {
        guard try await state(call) != nil else { return }
        switch random.below(10) {
        case 0..<3:
            if await press(.hangUp) {
                counts.buttons += 1
                tell("ended with the button")
                let isOver = await expect("the button ends the call", within: 15) {
                    try await state(call) == nil ? nil : "it is there"
                }
                if isOver { return }
            }
            try await box.bridge.calls.hangup(call)
        case 3..<6:
            tell("ended by a program")
            try await box.bridge.calls.hangup(call)
        case 6..<9:
            tell("ended by the far end")
            try await box.registration?.update(call, .ended, reason: .remoteHangUp)
        default:
            tell("its provider is killed")
            counts.faults += 1
            await box.killProvider()
            await sleep(between(1, 20))
            try await box.startProvider()
        }
        await expect("the call ends", within: 10) { try await state(call) == nil ? nil : "it is there" }
    }

    /// Returns nil when there is no such call.
    func state(_ call: Call.ID) async throws -> Call.State? {
        try await box.bridge.calls.list().first { $0.id == call }?.state
    }

    /// Presses the button of a connected headset; returns false when there is none.
    private func press(_ button: PressedButton) async -> Bool {
        guard let headset = box.headsets.first(where: { box.isOn($0) && $0.connection?.isConnected == true }) else {
            return false
        }
        headset.connection?.press(button)
        return true
    }

    // MARK: Events in a call

    private func duringCall(_ call: Call.ID) async {
        do {
            switch random.below(14) {
            case 0, 1: await someHeadsetOn()
            case 2: someHeadsetOff()
            case 3: await someHeadsetLost()
            case 4: await cardPulled()
            case 5: await bluetoothGoes(after: between(1, 15))
            case 6: try await box.bridge.calls.setMuted(chance(50))
            case 7: setVolume()
            case 8: headsetClosesLink()
            case 9: try await select()
            case 10: try await holdAndResume(call)
            case 11: try await box.bridge.calls.sendDTMF(call, tones: "12#")
            case 12: try await interrupt()
            default: await losePackets()
            }
        } catch {
            // Refusals are expected while the environment changes; the invariants are checked afterwards.
            tell("refused: \(error)")
        }
    }

    private func cardPulled() async {
        let card = one(of: SoakBox.cards)
        tell("\(card) is pulled")
        counts.faults += 1
        box.pull(card)
        await sleep(between(1, 15))
        box.insert(card)
    }

    private func setVolume() {
        for headset in box.headsets where box.isOn(headset) {
            headset.connection?.setSpeakerVolume(3 + random.below(12))
            if chance(30) { headset.connection?.tellBattery(10 * (1 + random.below(9))) }
        }
    }

    private func headsetClosesLink() {
        guard let headset = box.headsets.first(where: { box.isOn($0) }) else { return }
        tell("\(headset.name) closes its link")
        counts.faults += 1
        box.simulation.closeLink(headset.address)
    }

    private func select() async throws {
        if chance(30) { return try await box.bridge.audioDeviceManager.clearSelection() }
        let choice = one(of: [DeviceChoice.speakerphone, .earpiece, .bluetooth])
        tell("\(choice) is selected")
        if chance(50) {
            let hold = try await box.bridge.audioDeviceManager.acquireSelection(choice)
            await sleep(between(2, 10))
            hold.release()
        } else {
            try await box.bridge.audioDeviceManager.select(choice)
        }
    }

    private func holdAndResume(_ call: Call.ID) async throws {
        tell("held")
        try await box.bridge.calls.setHeld(call, true)
        await sleep(between(2, 15))
        try await box.bridge.calls.setHeld(call, false)
    }

    private func interrupt() async throws {
        tell("interrupted")
        let hold = try await box.bridge.audioDeviceManager.interrupt(source: "announcement")
        await sleep(between(2, 8))
        hold.release()
    }

    private func losePackets() async {
        for headset in box.headsets { box.simulation.loseEach(7, of: headset.address) }
        await sleep(between(2, 10))
        for headset in box.headsets { box.simulation.loseEach(0, of: headset.address) }
    }

    /// Makes a headset block audio, in one of several ways.
    private func headsetMisbehaves() async {
        let headset = one(of: box.headsets)
        counts.faults += 1
        switch random.below(3) {
        case 0:
            tell("\(headset.name) is mute")
            box.simulation.mute.insert(headset.address)
        case 1:
            tell("\(headset.name) closes its link at once")
            box.simulation.brief.insert(headset.address)
        default:
            tell("the application is unwilling")
            box.provider.manner = chance(50) ? .slow : .refusing
        }
    }

    /// Makes the application refuse or ignore a request, and then carry it out.
    private func expectRefusal(_ request: @ControlPlane () async throws -> Void) async {
        do {
            try await request()
            violate("a request that the application does not fulfil succeeds")
        } catch {
            tell("\(error)")
        }
        // A late response has no effect.
        await sleep(5)
        box.provider.manner = .willing
    }

    private func endOfMisbehaviour() async {
        box.simulation.mute = []
        box.simulation.brief = []
        box.provider.manner = .willing
    }
}
