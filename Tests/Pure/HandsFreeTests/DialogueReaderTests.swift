import BluetoothTypes
import HandsFree
import Telephony
import Testing

/// The format of a file of dialogues, and detection of a dialogue that the gateway does not keep.
@Suite struct DialogueReaderTests {
    private static let head = "dialogue: one\ncase: SLC\nsource: here\n"

    @Test(arguments: [
        ("AG OK\n", "here:1: “AG OK” stands before the first “dialogue:”"),
        ("dialogue: one\nsource: here\n\nHF AT\n", "here:1: “one” has no case"),
        ("dialogue: one\ncase: SLC\n\nHF AT\n", "here:1: “one” has no source"),
        (head + "\n# nothing\n", "here:1: “one” has no steps"),
        (head + "HF AT\n", "here:4: “HF AT” is no line of a header; a blank line ends it"),
        (
            head + "\nHF AT\nfeatures: three_way\n",
            "here:6: “features:” is a line of the header, which ended with the blank line"
        ),
        (head + "feature: three_way\n", "here:4: there is no key “feature”"),
        (head + "codecs:\n", "here:4: “codecs:” has no value"),
        (head + "events: some\n", "here:4: events: all or written, not “some”"),
        (
            "dialogue: one\ncase: SLC/BV-1\n",
            "here:2: “SLC/BV-1” is neither a case (ICA/BV-04), a rule (rule 4) nor a quirk (A11)"
        ),
        (
            "dialogue: one\ncase: XYZ\n",
            "here:2: “XYZ” is neither a case (ICA/BV-04), a rule (rule 4) nor a quirk (A11)"
        ),
        (head + "\nHF AT\n" + head + "\nHF AT\n", "here:6: there is a dialogue “one” already"),
        (head + "\nhf AT\n", "here:5: not understood: “hf AT”"),
        (head + "\nwait soon\n", "here:5: not understood: “wait soon”"),
        (head + "\naudio opened AAC\n", "here:5: not understood: “audio opened AAC”"),
        (head + "\nset volume 3\n", "here:5: not understood: “set volume 3”"),
        (head + "\ndone 3\n", "here:5: not understood: “done 3”"),
        (
            head + "\nHF AT\nlink up\n",
            "here:6: link connect CODEC, link accept CODEC, link disconnect or link reject, not “link up”"
        ),
        (head + "\nHF AT\nAG\n", "here:6: “AG” says nothing"),
        (
            head + "\ncalls 1 in ringing 5\n",
            "here:5: a call is INDEX DIRECTION STATE [NUMBER [NAME]], not “1 in ringing 5”"
        ),
        (head + "\nbytes AT\n", "here:5: bytes: text in quotation marks with escapes, not “AT”"),
        (head + "\nbytes \"\\q\"\n", "here:5: bytes: text in quotation marks with escapes, not “\"\\q\"”"),
        (head + "\nbytes \"x\" many times\n", "here:5: bytes \"TEXT\" N times, not “\"x\" many times”"),
    ])
    func `invalid lines are refused with file and line`(_ text: String, _ description: String) {
        let error = #expect(throws: DialogueError.self) { try DialogueReader.dialogues(text, file: "here") }
        #expect(error?.description == description)
    }

    @Test(arguments: [
        ("features: three_way, teleport", "features: the name of a feature, not “teleport”"),
        ("codecs: aac", "codecs: cvsd, msbc or lc3_swb, not “aac”"),
        ("chld: 5", "chld: 0, 1, 1x, 2, 2x, 3 or 4, not “5”"),
        ("hf_indicators: 2 perhaps", "hf_indicators: NUMBER enabled or NUMBER disabled, not “2 perhaps”"),
        (
            "network: signal 9",
            "network: service, signal, roam or battchg and its value, or operator NAME, not “signal 9”"
        ),
        ("subscriber_numbers: 5551", "subscriber_numbers: NUMBER TYPE SERVICE, not “5551”"),
        ("memory: one 5551", "memory: LOCATION NUMBER, not “one 5551”"),
        ("inband_ring: maybe", "inband_ring: on or off, not “maybe”"),
        ("version: 2.0", "version: 1.5 to 1.10, not “2.0”"),
        ("profile: HFP", "profile: HFP_AG or HSP_AG, not “HFP”"),
        (
            "quirks: haste",
            """
            quirks: mask FEATURE…, broken_codec CODEC…, no_microphone_volume, setup_seconds N, audio_delay N, \
            refuses_first_audio, forgets_volume, software_volume, apple_name NAME, second_call_waits or \
            forgets_waiting_call, not “haste”
            """
        ),
        (
            "extras: virtual_call perhaps",
            """
            extras: audio_delay N, volume_resend N, speaker_ceiling N, recorded_features N, no_audio_policy, virtual_call onRequest or \
            virtual_call withAudio, not “virtual_call perhaps”
            """
        ),
    ])
    func `an invalid value is refused with accepted ones`(_ setting: String, _ reason: String) throws {
        let dialogue = try #require(DialogueReader.dialogues(Self.head + setting + "\n\nHF AT\n", file: "here").first)
        let refusal = #expect(throws: DialogueSetting.Refusal.self) { try dialogue.configuration() }
        #expect(refusal?.reason == reason)
    }

    @Test func `the file's header applies to all its dialogues, a dialogue's header to itself`() throws {
        let text = """
            source: everywhere
            codecs: cvsd

            dialogue: one
            case: SLC, rule 3, A11

            HF AT

            dialogue: two
            case: -
            source: here
            codecs: cvsd, msbc

            HF AT
            """
        let dialogues = try DialogueReader.dialogues(text, file: "here")
        #expect(dialogues.map(\.name) == ["one", "two"])
        #expect(dialogues.map(\.line) == [4, 9])
        #expect(dialogues.map(\.source) == ["everywhere", "here"])
        #expect(try dialogues.map { try $0.configuration().codecs } == [[.cvsd], [.cvsd, .mSBC]])
        #expect(dialogues.first?.cases == ["SLC", "rule 3", "A11"])
    }

    @Test func `bytes and callers are written with escapes`() throws {
        let text =
            Self.head + """

                bytes "AT\\r\\x0aé\\u{2028}\\"" 2 times
                calls 1 in held+conference +4930 "A, \\"B\\"\\r", 2 out active - Bo Lee
                """
        let steps = try #require(DialogueReader.dialogues(text, file: "here").first).steps
        guard case .bytes(let bytes)? = steps.first?.input, case .calls(let calls)? = steps.last?.input else {
            Issue.record("\(steps)")
            return
        }
        #expect(bytes == Array("AT\r\né\u{2028}\"AT\r\né\u{2028}\"".utf8))
        #expect(calls.map(\.details.name) == ["A, \"B\"\r", "Bo Lee"])
        #expect(calls.map(\.details.number) == ["+4930", nil])
        #expect(calls.map(\.isConference) == [true, false])
    }

    @Test(arguments: [
        ("HF AT\nAG ERROR", "here:5"), ("HF AT", "here:5"), ("AG OK\nHF AT\nAG OK", "here:5"),
        ("HF AT+VGS=3\nevent volume speaker 4\nAG OK", "here:5"), ("HF AT+VGS=3\nAG OK", "here:5"),
        ("HF AT\nAG OK\nAG OK", "here:5"), ("HF AT\nAG OK\nwait 20000", "here:7"), ("done", "here:5"),
        ("HF AT+CLIP=1\nAG OK\nHF AT+BRSF=0\nAG +BRSF: 1…\nAG OK", "here:7"),
        ("HF AT+BRSF=0\nAG OK\nAG +BRSF: 4073", "here:5"),
    ])
    func `a difference is reported at its step`(_ steps: String, _ place: String) throws {
        let dialogue = try #require(DialogueReader.dialogues(Self.head + "\n" + steps + "\n", file: "here").first)
        let mismatch = try #require(DialoguePlayer.play(dialogue))
        #expect("\(mismatch.file):\(mismatch.line)" == place)
    }

    @Test(arguments: [
        ("+BRSF: …", "+BRSF: 4073", true), ("…", "", true), ("a…c…e", "abcde", true), ("a…c", "abcd", false),
        ("\"…\",129", "\"55\",129", true), ("\"…\",129", "\"5\"5\",129", false),
        ("(\"call\",…)", "(\"call\",(0,1))", true),
        ("OK", "OK ", false), ("", "OK", false),
    ])
    func `an ellipsis stands for any text, between quotation marks for text without one`(
        _ pattern: String, _ text: String, _ isSame: Bool
    ) {
        let written = Dialogue.Output(kind: .gateway, text: pattern)
        #expect(written.describes(Dialogue.Output(kind: .gateway, text: text)) == isSame)
        #expect(!written.describes(Dialogue.Output(kind: .event, text: text)))
    }

    @Test func `unlisted events are accepted only if the file allows them`() throws {
        let steps = "\nHF AT+BAC=1,2\nAG OK\n"
        for (head, isKept) in [("", false), ("events: written\n", true)] {
            let text = "dialogue: one\ncase: SLC\nsource: here\n" + head + steps
            let dialogue = try #require(DialogueReader.dialogues(text, file: "here").first)
            #expect((DialoguePlayer.play(dialogue) == nil) == isKept)
        }
    }
}
