import BTCallAPI
import BluetoothTypes
import DBus
import TalkWords
import Testing

@Suite struct RoundTripTests {
    /// The values as received from the bus: each in its variant.
    private func received(_ values: [String: Value]) throws -> Fields {
        try Fields(.variant(.vardict(values)), of: "test")
    }

    private func headset() throws -> DeviceDescription {
        let address = try #require(BluetoothAddress("AA:BB:CC:DD:EE:0F"))
        return DeviceDescription(
            device: .headset(address), name: "Jabra", isAvailable: false, unavailableBecause: "settling 0.4 s",
            output: "sco:\(address)", input: "sco:\(address)", battery: 80, codecs: ["mSBC", "CVSD"],
            category: "headset")
    }

    @Test func `Levels are decoded as encoded, and none as nil`() throws {
        let levels = LevelsDescription(heard: .init(peak: -3, rms: -12.5), said: .init(peak: -96, rms: -96))
        #expect(try LevelsDescription(received(levels.fields)) == levels)
        #expect(try LevelsDescription(received([:])) == nil)
        #expect(throws: APIError.self) { try LevelsDescription(self.received(["heardPeak": "loud"])) }
    }

    @Test func `A device is decoded as encoded`() throws {
        let headset = try headset()
        #expect(try DeviceDescription(received(headset.fields)) == headset)
        var able = headset
        able.state = "pending"
        able.mode = "hfp"
        able.isDuplex = true
        able.rates = [16000, 8000]
        able.hasInbandRing = true
        able.speakerVolumeMax = 15
        able.microphoneVolumeMax = 15
        able.codecReason = "mSBC failed"
        able.mediaState = "playing"
        able.mediaCodec = "SBC 48000 Hz joint, bitpool 51"
        able.mediaVolume = 0
        able.reconnect = "waiting"
        #expect(try DeviceDescription(received(able.fields)) == able)
        #expect(headset.fields["kind"] == "bluetooth")
        #expect(headset.fields["address"] == "AA:BB:CC:DD:EE:0F")
        let earpiece = DeviceDescription(device: .earpiece, name: "Handset", isAvailable: true)
        #expect(try DeviceDescription(received(earpiece.fields)) == earpiece)
        #expect(earpiece.fields["battery"] == nil && earpiece.fields["address"] == nil)
    }

    @Test(arguments: ["priority": Value.uint32(7), "duck": .double(-3), "mixable": .bool(false)])
    func `a playback to the far end is refused with an option that has no meaning there`(name: String, value: Value)
        throws
    {
        let options = { (to: String) in
            Fields(["to": .string(to), name: value], of: "the options of OpenPlayback")
        }
        let error = #expect(throws: APIError.self) { try PlaybackRequest(options: options("call")) }
        #expect(error?.message.contains("\(name) in the options of OpenPlayback has no meaning with to = call") == true)
        _ = try PlaybackRequest(options: options("ring"))
        let request = PlaybackRequest(.call)
        #expect(try PlaybackRequest(options: Fields(request.options, of: "the options of OpenPlayback")) == request)
    }

    @Test func `The router's state is decoded as encoded`() throws {
        let state = RouterState(
            isStarted: true, preferred: .bluetooth, defaultDevice: .earpiece, selected: .bluetooth,
            activeRoute: .earpiece, pending: try headset().device, mode: "hfp", codec: "mSBC", reason: "callStarted",
            devices: [try headset()], interruptions: ["page"], replacedPreference: .speakerphone)
        #expect(try RouterState(received(state.properties)) == state)
        #expect(try RouterState(received(RouterState().properties)) == RouterState())
    }

    @Test func `An explanation is decoded as encoded`() throws {
        var explanation = ExplanationDescription(
            chosen: .earpiece, level: "default", reason: "linkSilent",
            levels: [
                .init(
                    name: "preferred", spec: "bluetooth", candidate: "none", verdict: "settling", value: "0.4 s",
                    limit: "1 s"),
                .init(name: "default", spec: "earpiece", candidate: "earpiece", verdict: "eligible", isEligible: true),
            ], text: ["one", "two"])
        #expect(try ExplanationDescription(received(explanation.fields)) == explanation)
        explanation.next = .init(action: "mayTakeCall", device: "bluetooth:AA:BB:CC:DD:EE:0F", remaining: 600)
        #expect(try ExplanationDescription(received(explanation.fields)) == explanation)
        explanation.next = .init(action: "attempt", device: "bluetooth:AA:BB:CC:DD:EE:0F", remaining: nil)
        #expect(try ExplanationDescription(received(explanation.fields)) == explanation)
    }

    @Test(arguments: CallDescription.State.allCases)
    func `A call is decoded as encoded in every state`(state: CallDescription.State) throws {
        let call = CallDescription(
            id: "6ba7b810-9dad-11d1-80b4-00c04fd430c8", state: state, direction: .outgoing, number: "5550100",
            name: nil, provider: "phone", index: 2, startedAt: 1_700_000_000_123)
        #expect(try CallDescription(received(call.properties)) == call)
    }

    @Test(arguments: CallStatusWord.allCases)
    func `A call's status is decoded as encoded; without it, the state gives it`(status: CallStatusWord) throws {
        var call = CallDescription(id: "1", state: .active, direction: .incoming, provider: "phone", index: 1)
        call.status = status
        #expect(try CallDescription(received(call.properties)) == call)
        var properties = call.properties
        properties[BTCallName.Call.status] = nil
        #expect(try CallDescription(received(properties)).status == .mediaPending)
        properties[BTCallName.Call.audio] = .string(MediaDirection.off.rawValue)
        #expect(try CallDescription(received(properties)).status == .inCall)
    }

    @Test func `A call's link and quality are decoded as encoded`() throws {
        var call = CallDescription(id: "1", state: .active, direction: .incoming, provider: "phone", index: 1)
        call.link = .init(device: .headset(BluetoothAddress(value: 1)), handle: 42, codec: "mSBC", packetBytes: 60)
        call.ssrcs = [0, .max]
        call.quality = QualityDescription()
        call.quality?.score = 63
        call.quality?.durationMs = 5_000
        call.quality?.packets = 633
        call.quality?.lost = 33
        call.quality?.concealedMs = 250
        call.quality?.droppedMs = 10
        call.quality?.gaps = 1
        call.quality?.jitterMs = 0.25
        call.quality?.driftPPM = -12.5
        call.quality?.retries = 2
        call.quality?.xruns = 3
        call.totalQuality = QualityDescription()
        #expect(try CallDescription(received(call.properties)) == call)
        #expect(call.properties[BTCallName.Call.quality] == .int32(63))
        call.routes = [.wiredHeadset, .earpiece]
        call.camera = CameraDescription(camera: "front", width: 640, height: 480, framesPerSecond: 30)
        #expect(try CallDescription(received(call.properties)) == call)
        call.requestedMedia = MediaDirections(audio: .sendOnly, video: .off)
        call.recordingRequestedBy = ":1.7"
        call.account = AccountDescription(accountID: "4711", userID: "anna")
        call.icon = "/usr/share/pixmaps/phone.png"
        (call.talkMode, call.isTalking, call.talkState, call.talkHolder) = (.latch, true, .tail, "board pedal")
        #expect(try CallDescription(received(call.properties)) == call)
        #expect(AccountDescription(accountID: "4711").fields == ["accountId": "4711"])
        call.link = .init(device: .earpiece)
        #expect(try CallDescription(received(call.properties)) == call)
        #expect(call.properties[BTCallName.Call.link]?.vardictValue == ["device": "earpiece"])
        #expect(call.totalQuality?.fields["score"] == nil)
        call.totalQuality = nil
        call.quality = nil
        #expect(call.properties[BTCallName.Call.quality] == .int32(-1))
        #expect(try CallDescription(received(call.properties)) == call)
    }

    @Test func `The manager's problems, a headset, a format and options are decoded as encoded`() throws {
        let manager = ManagerDescription(
            version: "1.0", state: .activating,
            problems: [ProblemDescription(id: "adapter", what: "no Bluetooth adapter", remedy: "plug one in")])
        #expect(try ManagerDescription(received(manager.properties)) == manager)
        let headset = HeadsetDescription(
            address: BluetoothAddress(value: 0x1234), name: "H", codec: "CVSD", codecs: ["CVSD"],
            codecReason: "mSBC failed", battery: 0, speakerVolume: 15, microphoneVolume: 3,
            audioPolicy: ["calls": "notAllowed", "inbandRing": "allowed"], isMicrophoneMuted: true,
            powerSource: "external", isSafetyEnhanced: false, talk: "pressed", talkDelay: 420)
        let key = TalkKeyDescription(kind: "board", name: "pedal", isPressed: true)
        #expect(try TalkKeyDescription(received(key.fields)) == key)
        #expect(try HeadsetDescription(received(headset.properties)) == headset)
        for rate in AudioFormat.rates {
            for sample in AudioFormat.Sample.allCases {
                for channels in 1...2 {
                    let format = AudioFormat(rate: rate, sample: sample, channels: channels)
                    #expect(try AudioFormat(received(format.fields)) == format)
                    #expect(try AudioFormat(options: received(format.options)) == format)
                }
            }
        }
        let provider = ProviderOptions(
            name: "phone", format: AudioFormat(rate: 44100, sample: .f32, channels: 2),
            capabilities: [.dtmf, .hold], hasCallState: false)
        #expect(try ProviderOptions(received(provider.fields)) == provider)
        let soundCard = ProviderOptions(name: "phone", audio: .pcm)
        #expect(try ProviderOptions(received(soundCard.fields)) == soundCard)
        var radio = ProviderOptions(name: "radio", capabilities: [.talk])
        radio.talk = .push
        #expect(try ProviderOptions(received(radio.fields)) == radio)
        var report = ReportOptions(name: "Alice", isVideo: true, state: .alerting)
        report.talk = .toggle
        #expect(try ReportOptions(received(report.outgoingFields)) == report)
    }

    @Test(arguments: SettingDescription.Effect.allCases, SettingDescription.Origin.allCases)
    func `A setting is decoded as encoded`(
        effect: SettingDescription.Effect, origin: SettingDescription.Origin
    ) throws {
        let setting = SettingDescription(
            key: "routing.exclude", value: "", defaultValue: "x", accepted: "y", effect: effect, origin: origin,
            summary: "z")
        #expect(try SettingDescription(received(setting.fields)) == setting)
    }

    @Test func `Quirks and their explanation are decoded as encoded`() throws {
        var row = QuirkDescription(
            name: "slow", origin: .admin, line: 3, state: .off, expires: "2027-01-01", conditions: ["address = 00"],
            effects: ["setUpSeconds = 30"], advice: "wait", reference: "here", reason: "slow")
        let file = QuirksDescription.File(path: "/etc/q.conf", origin: .admin, version: "2", rows: 1)
        let quirks = QuirksDescription(files: [file], rows: [row], unknown: ["gone"])
        #expect(try QuirksDescription(received(quirks.fields)) == quirks)
        row.because = ["the address begins with 00"]
        row.obstacles = ["it is switched off"]
        var explanation = QuirksExplanationDescription(address: BluetoothAddress(value: 0x1234))
        #expect(try QuirksExplanationDescription(received(explanation.fields)) == explanation)
        explanation.name = "Car"
        explanation.modalias = "bluetooth:v0001p0002d0003"
        explanation.isKnown = true
        explanation.isConnected = true
        explanation.controller = "hci0"
        explanation.controllerModalias = "usb:v0A12p0001d8891"
        explanation.driver = "btusb"
        explanation.kernel = "6.1"
        explanation.manufacturer = 0
        explanation.alternateSetting = 1
        explanation.applied = [row]
        explanation.near = [row]
        explanation.outcomes = [.init(key: "setUpSeconds", value: "30", summary: "time", sources: ["slow"])]
        #expect(try QuirksExplanationDescription(received(explanation.fields)) == explanation)
    }

    @Test func `Statistics are decoded as encoded`() throws {
        var statistics = AudioStatistics()
        statistics.isRealtime = true
        statistics.cardQueueMs = 50
        statistics.lost = 3
        var terminal = AudioStatistics.Terminal(id: 7, device: try headset().device, kind: .link, codec: "mSBC")
        terminal.packetsReceived = .max
        terminal.driftPPM = -12.5
        var stream = AudioStatistics.Terminal(id: 9, device: try headset().device, kind: .stream, codec: "SBC")
        stream.packetsWaited = 4
        stream.bitpool = 53
        statistics.terminals = [terminal, .init(id: 8, device: .earpiece, kind: .path), stream]
        var call = AudioStatistics.Call(call: "/org/btcall/calls/x")
        call.blocksIn = 1
        call.queueBlocks = 2
        statistics.calls = [call]
        var injection = AudioStatistics.Injection(owner: ":1.7")
        injection.blocks = 3
        injection.missing = 2
        injection.bad = 1
        statistics.injections = [injection]
        #expect(try AudioStatistics(received(statistics.fields)) == statistics)
    }

    @Test func `No dictionary contains -1 or an empty string for an unknown value`() throws {
        let address = BluetoothAddress(value: 0x1234)
        let log = CallLogDescription(
            id: nil, direction: .incoming, number: nil, name: nil, provider: "phone", began: 1, answered: nil, ended: 2,
            reason: "filtered", device: nil)
        let level = ExplanationDescription.Level(name: "default")
        let row = QuirkDescription(
            name: "slow", origin: .admin, line: 1, conditions: [], effects: [], reference: "", reason: "")
        let dictionaries: [[String: Value]] = [
            DeviceDescription(device: .earpiece, name: "earpiece", isAvailable: true).fields,
            DeviceDescription(device: .headset(address), name: "H", isAvailable: false).fields,
            QualityDescription().fields, CallLinkDescription(device: .earpiece).fields, log.fields,
            ExplanationDescription(chosen: .none, level: "", reason: "", levels: [level], text: []).fields,
            level.fields, ExplanationDescription.Next(action: "attempt", device: "", remaining: nil).fields,
            row.fields, QuirksExplanationDescription(address: address).fields,
            AudioStatistics.Terminal(id: 1, device: .earpiece, kind: .path).fields,
            ContactDescription(name: "Alice").fields,
        ]
        for fields in dictionaries {
            for (key, value) in fields {
                #expect(value != "" && value.integerValue.map { $0 >= 0 } ?? true, "\(key) is \(value)")
            }
        }
        #expect(log.fields["answered"] == nil)
    }

    @Test func `Unknown entries are ignored, and missing optional ones get their default`() throws {
        let options = try ProviderOptions(received(["future": .bool(true)]))
        #expect(options == ProviderOptions(name: "unnamed"))
        let device = try DeviceDescription(received(["device": "earpiece", "available": true]))
        #expect(device == DeviceDescription(device: .earpiece, name: "", isAvailable: true))
    }

    @Test func `A wrong type, a missing entry and a wrong word are refused with what is accepted`() throws {
        func message(_ body: () throws -> Void) -> String? {
            do {
                try body()
                return nil
            } catch {
                return (error as? APIError)?.message
            }
        }
        #expect(
            message { _ = try ProviderOptions(received(["rate": "16000"])) }
                == "rate in test has to be of type integer, not s")
        #expect(
            message { _ = try ProviderOptions(received(["rate": .uint32(22050)])) }
                == "rate in test is 22050; accepted: 8000, 16000, 24000, 32000, 44100, 48000")
        #expect(
            message { _ = try ProviderOptions(received(["format": "S24"])) }
                == "format in test is \"S24\"; accepted: S16, F32")
        #expect(
            message { _ = try ProviderOptions(received(["channels": .uint32(3)])) }
                == "channels in test is 3; accepted: 1, 2")
        #expect(
            message { _ = try AudioFormat(received(["rate": .uint32(8000), "format": "S24LE"])) }
                == "format in test is \"S24LE\"; accepted: S16LE, F32LE")
        #expect(
            message { _ = try AudioFormat(received(["rate": .uint32(8000), "blockFrames": .uint32(160)])) }
                == "test is 8000 frames per second, 1 channels, 160 frames in a block")
        #expect(
            message { _ = try ProviderOptions(received(["audio": "tcp"])) }
                == "audio in test is \"tcp\"; accepted: fd, pcm")
        #expect(
            message { _ = try ProviderOptions(received(["capabilities": .strings(["fly"])])) }
                == "capabilities in test has \"fly\"; accepted: hold, swap, conference, dtmf, mute, dial, video, talk")
        #expect(
            message { _ = try ReportOptions(received(["state": "held"])) }
                == "state in test is \"held\"; accepted: dialing, alerting, active")
        #expect(
            message { _ = try DeviceDescription(received(["device": "radio"])) }
                == "device in test is \"radio\"; accepted: \(DeviceWord.accepted)")
        #expect(message { _ = try CallDescription(received([:])) } == "test has no Id (s)")
        #expect(message { _ = try Fields("text", of: "options") } == "options has to be of type a{sv}, not s")
        #expect(
            message { _ = try DeviceDescription(received(["device": "earpiece", "available": .byte(1)])) }
                == "available in test has to be of type b, not y")
    }
}

@Suite struct WordTests {
    @Test(arguments: ["speakerphone", "wiredHeadset", "earpiece", "bluetooth", "none", "bluetooth:AA:BB:CC:DD:EE:0F"])
    func `A device word is written as it was read`(text: String) {
        #expect(DeviceWord(text)?.description == text)
    }

    @Test(arguments: ["", "Earpiece", "bluetooth:", "bluetooth:AA:BB:CC:DD:EE", "bluetooth AA:BB:CC:DD:EE:FF", "sco"])
    func `A text that is not a device word is refused`(text: String) {
        #expect(DeviceWord(text) == nil)
    }

    @Test func `A device word has a kind, and a headset's has an address`() {
        #expect(DeviceWord("bluetooth:aa:bb:cc:dd:ee:0f")?.kind == "bluetooth")
        #expect(DeviceWord("bluetooth:aa:bb:cc:dd:ee:0f")?.address == BluetoothAddress(value: 0xAABB_CCDD_EE0F))
        #expect(DeviceWord("bluetooth")?.address == nil)
    }

    @Test func `A call's path contains its id with underscores, and converts back to it`() {
        let id = "6ba7b810-9dad-11d1-80b4-00c04fd430c8"
        let path = "/org/btcall/calls/6ba7b810_9dad_11d1_80b4_00c04fd430c8"
        #expect(BTCallPath.call(id) == path)
        #expect(BTCallPath.call(id.uppercased()) == path)
        #expect(BTCallPath.callID(at: path) == id)
    }

    @Test(arguments: [
        "/org/btcall/calls", "/org/btcall/calls/", "/org/btcall/calls/1", "/org/btcall/callsx",
        "/org/btcall/calls/6ba7b810_9dad_11d1_80b4_00c04fd430c8/x",
        "/org/btcall/calls/6ba7b810_9dad_11d1_80b4_00c04fd430cg",
    ])
    func `Other paths are not a call's`(path: String) {
        #expect(BTCallPath.callID(at: path) == nil)
    }

    @Test func `A headset's path contains its address, and converts back to it`() {
        let address = BluetoothAddress(value: 0xAABB_CCDD_EE0F)
        #expect(BTCallPath.headset(address) == "/org/btcall/headsets/AA_BB_CC_DD_EE_0F")
        #expect(BTCallPath.headsetAddress(at: BTCallPath.headset(address)) == address)
        #expect(BTCallPath.headsetAddress(at: "/org/btcall/headsets/1") == nil)
    }

    @Test(arguments: APIError.Code.allCases)
    func `Every error has a name on the bus, and is decoded from it`(code: APIError.Code) {
        let error = APIError(code, "because")
        #expect(error.name == "org.btcall.Error.\(code.rawValue)")
        #expect(APIError(error.busError) == error)
    }

    @Test func `An unknown error of the daemon keeps its message, and foreign errors are not decoded`() {
        let unknown = APIError(BusError(name: "org.btcall.Error.TooHot", message: "cool it"))
        #expect(unknown == APIError(.fault, "cool it"))
        #expect(APIError(BusError.noReply("late")) == nil)
    }
}
