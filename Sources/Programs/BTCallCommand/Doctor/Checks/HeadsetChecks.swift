import BTCallAPI
import BluetoothTypes

/// Checks whether the paired headsets can be reached and used.
let headsetChecks = [
    DoctorCheck(
        "headsets-none", .note, finds: "no headset is paired", remedy: "pair one", command: "bluetoothctl pair ADDRESS"
    ) { system in
        guard !system.adapters.isEmpty else { return .skipped("bluetoothd has no adapter") }
        guard system.pairedHeadsets.isEmpty else { return .ok }
        return .found([DoctorEvidence("no headset is paired", seen: "devices of org.bluez")])
    },
    DoctorCheck(
        "headset-untrusted", .warning, finds: "a paired headset is not trusted: it may not initiate a connection",
        remedy: "trust it", command: "bluetoothctl trust ADDRESS"
    ) { system in
        system.eachHeadset { headset in
            guard headset.flag("Trusted") == false else { return nil }
            return DoctorEvidence(
                "the headset \(headset.title) is paired and not trusted", seen: "Trusted of \(headset.path) is false",
                command: "bluetoothctl trust \(headset.address)")
        }
    },
    DoctorCheck(
        "headset-blocked", .warning, finds: "a paired headset is blocked: its connections are refused",
        remedy: "remove the block", command: "bluetoothctl unblock ADDRESS"
    ) { system in
        system.eachHeadset { headset in
            guard headset.flag("Blocked") == true else { return nil }
            return DoctorEvidence(
                "the headset \(headset.title) is blocked", seen: "Blocked of \(headset.path) is true",
                command: "bluetoothctl unblock \(headset.address)")
        }
    },
    DoctorCheck(
        "headset-bond", .warning,
        finds: "a headset is paired without a stored key: it is forgotten with the next restart",
        remedy: "remove it here, forget this machine at the headset, pair again", command: "bluetoothctl remove ADDRESS"
    ) { system in
        system.eachHeadset { headset in
            let remove = "bluetoothctl remove \(headset.address)"
            if headset.flag("Bonded") == false {
                return DoctorEvidence(
                    "the headset \(headset.title) is paired without a bond", seen: "Bonded of \(headset.path) is false",
                    command: remove)
            }
            // Readable by root only.
            guard let adapter = system.adapters.first(where: { headset.path.hasPrefix($0.path + "/") }) else {
                return nil
            }
            let path = "/var/lib/bluetooth/\(adapter.address)/\(headset.address)/info"
            guard let text = system.text(path), !text.contains("[LinkKey]"), !text.contains("LongTermKey]") else {
                return nil
            }
            return DoctorEvidence(
                "the headset \(headset.title) has no key", seen: "\(path) has no [LinkKey]", command: remove)
        }
    },
    DoctorCheck(
        "headset-low-energy", .warning,
        finds: "a headset is paired over Low Energy only: calls need its classic side (BR/EDR)",
        remedy: "remove it, put it into pairing mode and look for it with BR/EDR alone; LE Audio is not offered",
        command: "bluetoothctl scan bredr"
    ) { system in
        system.eachHeadset { headset in
            guard !headset.hasVoiceProfile else { return nil }
            let isRandom = headset.string("AddressType") == "random"
            guard isRandom || headset.hasLowEnergyAudio else { return nil }
            return DoctorEvidence(
                "the headset \(headset.title) is known by its Low Energy side only",
                seen: isRandom
                    ? "AddressType of \(headset.path) is random"
                    : "its UUIDs are LE Audio, without 0000111e and 00001108")
        }
    },
    DoctorCheck(
        "headset-unresolved", .warning, finds: "a connected headset has not reported its services",
        remedy: "switch it off and on; if that does not help, remove it and pair it again",
        command: "bluetoothctl info ADDRESS"
    ) { system in
        system.eachHeadset { headset in
            // bluetoothd does not query the services of a headset that connected on its own if it knows them already.
            guard headset.flag("Connected") == true, headset.flag("ServicesResolved") == false, !headset.hasVoiceProfile
            else { return nil }
            return DoctorEvidence(
                "the headset \(headset.title) is connected without its services",
                seen: "Connected of \(headset.path) is true, ServicesResolved is false",
                command: "bluetoothctl info \(headset.address)")
        }
    },
    DoctorCheck(
        "headset-half-connected", .warning, finds: "a headset is connected, and the Hands-Free Profile is not",
        remedy:
            "connect that profile; if it is refused, another program has it, or the headset is on a telephone",
        command: "busctl call org.bluez PATH org.bluez.Device1 ConnectProfile s 0000111e-0000-1000-8000-00805f9b34fb"
    ) { system in
        guard case .objects = system.bus.btcall else { return .skipped("btcalld does not run") }
        let ours = system.bridgeHeadsets
        return system.eachHeadset { headset in
            guard headset.hasVoiceProfile, headset.flag("Connected") == true, ours[headset.address]?.hasVoice != true
            else { return nil }
            let uuid =
                headset.uuids.contains(DoctorSystem.BlueZObject.handsFree)
                ? DoctorSystem.BlueZObject.handsFree : DoctorSystem.BlueZObject.headset
            return DoctorEvidence(
                "the headset \(headset.title) is connected without the profile for calls",
                seen: "Connected of \(headset.path) is true; btcalld has no codecs of it",
                command: "busctl call org.bluez \(headset.path) org.bluez.Device1 ConnectProfile s \(uuid)")
        }
    },
    DoctorCheck(
        "headset-music", .note,
        finds: "btcalld has the A2DP of a headset, so that PipeWire, PulseAudio or BlueALSA cannot play to it",
        remedy:
            "nothing, if that is wanted; for music of the other program leave A2DP to it, and connect the headset again",
        command: "btcall config bluetooth.a2dp no"
    ) { system in
        let others = system.processesOnBus.filter { process in
            switch RivalProgram(process: process.name) {
            case .pulseaudio, .wireplumber, .pipewire, .bluealsa: true
            case .ofonod, .hsphfpd, .cras, .btcalld, nil: false
            }
        }
        // Of PipeWire's two processes the session manager is bluetoothd's client.
        let manager = others.first { RivalProgram(process: $0.name) == .wireplumber }
        guard let other = manager ?? others.first else { return .ok }
        let ours = system.bridgeHeadsets
        return system.eachHeadset { headset in
            guard let media = ours[headset.address]?.media, media.state != .foreign else { return nil }
            return DoctorEvidence(
                "btcalld has the A2DP of the headset \(headset.title), and \(other.title) cannot play to it",
                seen: "btcalld has a MediaState of it; bluetoothd keeps the program that a headset used last")
        }
    },
    DoctorCheck(
        "headset-talk-delay", .note,
        finds: "the first word of a talker waits for the voice link of a headset, which the press opens",
        remedy: "nothing, if its battery matters more; else keep the link during calls",
        command: "btcall config talk.link keep"
    ) { system in
        let ours = system.bridgeHeadsets
        return system.eachHeadset { headset in
            guard let delay = ours[headset.address]?.talkDelay else { return nil }
            return DoctorEvidence(
                "the first word waits for the voice link of the headset \(headset.title)",
                seen: "TalkDelay of it is \(delay) ms")
        }
    },
]

extension DoctorSystem {
    fileprivate func eachHeadset(_ body: (BlueZObject) -> DoctorEvidence?) -> DoctorCheck.Outcome {
        guard !pairedHeadsets.isEmpty else { return .skipped("no headset is paired") }
        return DoctorCheck.Outcome(pairedHeadsets.compactMap(body))
    }
}
