import CommandKit
import CommandTestSupport
import Testing

@testable import BTCallLab

/// `btcall-lab gateway` as its driver sees it: a process, and sockets.
@Suite(.timeLimit(.minutes(1))) struct GatewayCommandTests {
    private static let incoming = """
        {"op":"calls","swapped":false,"calls":[{"id":1,"dir":"in","state":"incoming","number":"123","type":129,"mpty":false}]}
        """
    private static let active = """
        {"op":"calls","swapped":false,"calls":[{"id":1,"dir":"in","state":"active","number":"123","type":129,"mpty":false}]}
        """
    private static let none = #"{"op":"calls","swapped":false,"calls":[]}"#

    // MARK: - Headsets

    @Test func `the service level connection, then a call that the headset answers and ends`() throws {
        let driver = try GatewayDriver()
        driver.configure(#""features":["three_way","codec_negotiation","reject_call","enhanced_call_status"]"#)
        let headset = try driver.connect()
        #expect(try headset.command("AT+BRSF=150") == ["+BRSF: \(1 + 32 + 64 + 512)"])
        for line in ["AT+BAC=1,2", "AT+CIND=?", "AT+CIND?", "AT+CMER=3,0,0,1", "AT+CHLD=?"] {
            try headset.command(line)
        }
        #expect(try driver.message() == #"{"op":"slc","link":0,"up":true}"#)
        try headset.command("AT+CLIP=1")
        driver.say(Self.incoming)
        #expect(try headset.line() == "+CIEV: 3,1")
        #expect(try headset.line() == "RING")
        #expect(try headset.line() == #"+CLIP: "123",129"#)
        headset.write("ATA\r")
        #expect(try driver.message() == #"{"op":"request","id":1,"link":0,"kind":"answer","call":1}"#)
        driver.say(#"{"op":"reply","id":1,"ok":true}"#, Self.active)
        #expect(try headset.line() == "OK")
        #expect(try headset.line() == "+CIEV: 2,1")
        #expect(try headset.line() == "+CIEV: 3,0")
        #expect(try headset.command("AT+CLCC") == [#"+CLCC: 1,1,0,0,0,"123",129"#])
        headset.write("AT+CHUP\r")
        #expect(try driver.message() == #"{"op":"request","id":2,"link":0,"kind":"hangup","call":1}"#)
        driver.say(#"{"op":"reply","id":2,"ok":true}"#, Self.none)
        #expect(try headset.line() == "OK")
        #expect(try headset.line() == "+CIEV: 2,0")
        driver.say(#"{"op":"quit"}"#)
        #expect(driver.end() == ("", 0))
    }

    @Test func `an audio link refused by the driver falls back to lower settings; nothing is proposed twice`() throws {
        let driver = try GatewayDriver()
        driver.configure(#""codecs":["cvsd","msbc","lc3_swb"]"#)
        let headset = try driver.headset(codecs: "1,2,3")
        driver.say(#"{"op":"event","link":0,"event":{"type":"audio_request","want":"connect"}}"#)
        #expect(try headset.line() == "+BCS: 3")
        try headset.command("AT+BCS=3")
        #expect(try driver.message() == #"{"op":"request","id":1,"link":0,"kind":"sco_connect","codec":"lc3_swb"}"#)
        driver.say(#"{"op":"reply","id":1,"ok":false,"cme":3}"#)
        #expect(try headset.line() == "+BCS: 1")
        try headset.command("AT+BCS=1")
        #expect(try driver.message() == #"{"op":"request","id":2,"link":0,"kind":"sco_connect","codec":"cvsd"}"#)
        driver.say(#"{"op":"reply","id":2,"ok":true}"#)
        driver.say(#"{"op":"event","link":0,"event":{"type":"audio_request","want":"disconnect"}}"#)
        #expect(try driver.message() == #"{"op":"effect","link":0,"kind":"sco_disconnect"}"#)
        driver.say(#"{"op":"event","link":0,"event":{"type":"sco_closed"}}"#)
        driver.say(#"{"op":"event","link":0,"event":{"type":"audio_request","want":"connect"}}"#)
        #expect(try headset.line() == "+BCS: 2")
        try headset.command("AT+BCS=2")
        #expect(try driver.message() == #"{"op":"request","id":3,"link":0,"kind":"sco_connect","codec":"msbc"}"#)
        driver.say(#"{"op":"reply","id":3,"ok":false}"#)
        #expect(try headset.line() == "+BCS: 1")
        try headset.command("AT+BCS=1")
        #expect(try driver.message() == #"{"op":"request","id":4,"link":0,"kind":"sco_connect","codec":"cvsd"}"#)
        driver.say(#"{"op":"reply","id":4,"ok":false}"#)
        #expect(try driver.message() == #"{"op":"effect","link":0,"kind":"audio_failed"}"#)
    }

    @Test func `an audio link given up while opening does not stay open, whatever the driver answers`()
        throws
    {
        let driver = try GatewayDriver()
        driver.configure()
        let headset = try driver.headset(codecs: "1")
        driver.say(#"{"op":"event","link":0,"event":{"type":"audio_request","want":"connect"}}"#)
        #expect(try headset.line() == "+BCS: 1")
        try headset.command("AT+BCS=1")
        #expect(try driver.message().hasPrefix(#"{"op":"request","id":1,"link":0,"kind":"sco_connect""#))
        driver.say(#"{"op":"event","link":0,"event":{"type":"audio_request","want":"disconnect"}}"#)
        #expect(try driver.message() == #"{"op":"effect","link":0,"kind":"sco_disconnect"}"#)
        driver.say(#"{"op":"reply","id":1,"ok":true}"#)
        #expect(try driver.message() == #"{"op":"effect","link":0,"kind":"sco_disconnect"}"#)
        driver.say(#"{"op":"event","link":0,"event":{"type":"audio_request","want":"connect"}}"#)
        #expect(try driver.message() == #"{"op":"request","id":2,"link":0,"kind":"sco_connect","codec":"cvsd"}"#)
    }

    @Test func `the headset opens the audio link and closes it`() throws {
        let driver = try GatewayDriver()
        driver.configure()
        let headset = try driver.headset()
        driver.say(#"{"op":"event","link":0,"event":{"type":"sco_incoming"}}"#)
        #expect(try driver.message() == #"{"op":"effect","link":0,"kind":"sco_accept","codec":"cvsd"}"#)
        driver.say(#"{"op":"event","link":0,"event":{"type":"sco_closed"}}"#)
        headset.write("AT+BCC\r")
        #expect(try headset.line() == "OK")
        #expect(try headset.line() == "+BCS: 2")
    }

    @Test func `a reply's error goes to the headset, as text only if it enabled that`() throws {
        let driver = try GatewayDriver()
        driver.configure()
        let headset = try driver.headset()
        headset.write("ATD5551;\r")
        #expect(try driver.message() == #"{"op":"request","id":1,"link":0,"kind":"dial","number":"5551"}"#)
        driver.say(#"{"op":"reply","id":1,"ok":false,"cme":30}"#)
        #expect(try headset.line() == "ERROR")
        try headset.command("AT+CMEE=1")
        headset.write("ATD5551;\r")
        #expect(try driver.message() == #"{"op":"request","id":2,"link":0,"kind":"dial","number":"5551"}"#)
        driver.say(#"{"op":"reply","id":1,"ok":true}"#, #"{"op":"reply","id":2,"ok":false,"cme":30}"#)
        #expect(try headset.line() == "+CME ERROR: 30")
        headset.write("AT+BLDN\r")
        #expect(try headset.line() == "+CME ERROR: 22")
    }

    @Test func `two headsets at once: both receive the calls, each has its own requests`() throws {
        let driver = try GatewayDriver()
        driver.configure()
        let first = try driver.headset(link: 0)
        let second = try driver.headset(link: 7)
        driver.say(Self.incoming)
        for headset in [first, second] {
            #expect(try headset.line() == "+CIEV: 3,1")
            #expect(try headset.line() == "RING")
        }
        second.write("AT+CHUP\r")
        #expect(try driver.message() == #"{"op":"request","id":1,"link":7,"kind":"reject","call":1}"#)
        first.write("ATA\r")
        #expect(try driver.message() == #"{"op":"request","id":2,"link":0,"kind":"answer","call":1}"#)
        driver.say(#"{"op":"reply","id":2,"ok":true}"#, #"{"op":"reply","id":1,"ok":false,"cme":3}"#)
        #expect(try first.line() == "OK")
        #expect(try second.line() == "ERROR")
        driver.say(#"{"op":"event","link":7,"event":{"type":"set","signal":2}}"#)
        #expect(try second.line() == "+CIEV: 5,2")
        #expect(try first.command("AT") == [])
    }

    @Test func `events are reported before the line that confirms them`() throws {
        let driver = try GatewayDriver()
        driver.configure(#""features":["ecnr","codec_negotiation","hf_indicators"],"hf_indicators":{"2":"enabled"}"#)
        let headset = try driver.headset()
        driver.say(Self.active)
        #expect(try headset.line() == "+CIEV: 2,1")
        let effects = [
            ("AT+VGS=9", #""kind":"volume","which":"speaker","value":9"#),
            ("AT+VGM=15", #""kind":"volume","which":"microphone","value":15"#),
            ("AT+VTS=#", ##""kind":"dtmf","tone":"#""##),
            ("AT+NREC=0", #""kind":"nrec","on":0"#),
            ("AT+BIEV=2,80", #""kind":"battery","percent":80"#),
            ("AT+CKPD=200", #""kind":"button","key":200"#),
        ]
        for (command, effect) in effects {
            try headset.command(command)
            #expect(try driver.message() == #"{"op":"effect","link":0,\#(effect)}"#)
        }
        driver.say(#"{"op":"event","link":0,"event":{"type":"ag_volume","which":"speaker","value":99}}"#)
        #expect(try headset.line() == "+VGS: 15")
        driver.say(#"{"op":"event","link":0,"event":{"type":"ag_volume","which":"microphone","value":-1e30}}"#)
        #expect(try headset.line() == "+VGM: 0")
        driver.say(#"{"op":"event","link":0,"event":{"type":"set","signal":null,"battchg":77,"roam":0}}"#)
        #expect(try headset.command("AT+CIND?").first?.hasSuffix(",5") == true)
    }

    @Test func `a headset of the Headset Profile is connected with its channel`() throws {
        let driver = try GatewayDriver()
        driver.configure(#""profile":"HSP_AG""#)
        let headset = try driver.connect()
        #expect(try driver.message() == #"{"op":"slc","link":0,"up":true}"#)
        driver.say(Self.incoming)
        #expect(try headset.line() == "RING")
        headset.write("AT+CKPD=200\r")
        #expect(try driver.message() == #"{"op":"effect","link":0,"kind":"button","key":200}"#)
        #expect(try driver.message() == #"{"op":"request","id":1,"link":0,"kind":"answer","call":1}"#)
        driver.say(#"{"op":"reply","id":1,"ok":true}"#, Self.active)
        #expect(try headset.line() == "OK")
        driver.say(#"{"op":"event","link":0,"event":{"type":"ag_volume","which":"speaker","value":7}}"#)
        #expect(try headset.line() == "+VGS=7")
    }

    @Test func `a headset that leaves requests nothing; one that returns reads the present state`() throws {
        let driver = try GatewayDriver()
        driver.configure()
        let first = try driver.headset()
        driver.say(Self.incoming)
        #expect(try first.line() == "+CIEV: 3,1")
        #expect(try first.line() == "RING")
        first.write("ATA\r")
        #expect(try driver.message() == #"{"op":"request","id":1,"link":0,"kind":"answer","call":1}"#)
        first.close()
        #expect(try driver.message() == #"{"op":"slc","link":0,"up":false}"#)
        driver.say(
            #"{"op":"reply","id":1,"ok":true}"#, #"{"op":"event","link":0,"event":{"type":"set","signal":1}}"#)
        let second = try driver.connect()
        try second.command("AT+BRSF=0")
        #expect(try second.command("AT+CIND?") == ["+CIND: 1,0,1,0,1,0,5"])
        try second.command("AT+CMER=3,0,0,1")
        #expect(try driver.message() == #"{"op":"slc","link":0,"up":true}"#)
        #expect(try second.line() == "RING")
        driver.say(#"{"op":"event","link":0,"event":{"type":"link_lost"}}"#)
        #expect(try driver.message() == #"{"op":"slc","link":0,"up":false}"#)
        #expect(try second.isClosed())
    }

    @Test func `audio does not outlive its headset's control connection`() throws {
        let driver = try GatewayDriver()
        driver.configure()
        let headset = try driver.headset()
        driver.say(#"{"op":"event","link":0,"event":{"type":"sco_incoming"}}"#)
        #expect(try driver.message() == #"{"op":"effect","link":0,"kind":"sco_accept","codec":"cvsd"}"#)
        headset.close()
        #expect(try driver.message() == #"{"op":"effect","link":0,"kind":"sco_disconnect"}"#)
        #expect(try driver.message() == #"{"op":"slc","link":0,"up":false}"#)
    }

    @Test func `the call table at the start, and calls whose ids are not an index`() throws {
        let driver = try GatewayDriver()
        driver.configure(
            """
            "calls":[{"id":100,"dir":"out","state":"held","number":null,"type":null,"mpty":true},\
            {"id":2,"dir":"out","state":"active","number":"+49","type":145,"mpty":true,"what":"ever"}]
            """)
        let headset = try driver.headset()
        #expect(try headset.command("AT+CLCC") == ["+CLCC: 1,0,1,0,1", #"+CLCC: 2,0,0,0,1,"+49",145"#])
        driver.say(
            #"{"op":"calls","swapped":true,"calls":[{"id":100,"dir":"out","state":"held"},{"id":2,"dir":"out","state":"active"}]}"#
        )
        #expect(try headset.line() == "+CIEV: 4,1")
        headset.write("AT+CHLD=11\r")
        #expect(try driver.message() == #"{"op":"request","id":1,"link":0,"kind":"hold","action":"11"}"#)
    }

    // MARK: - The protocol

    @Test func `messages may come in pieces, several at once, with spaces and unknown members`() throws {
        let driver = try GatewayDriver()
        driver.write(#"{ "op" : "configure", "x": [1, {"y": null}], "ag": {"feat"#)
        driver.write("ures\":[],\"colour\":\"red\",\"version\":\"1.10\"}}\r\n\n")
        let headset = try driver.connect()
        headset.write("AT+BR")
        headset.write("SF=0\rAT+CIND?\r")
        #expect(try headset.line() == "+BRSF: 0")
        #expect(try headset.line() == "OK")
        #expect(try headset.line() == "+CIND: 1,0,0,0,5,0,5")
        #expect(try headset.line() == "OK")
        driver.write("{\"op\":\"event\",\"link\":0,\"event\":{\"type\":\"set\",\"roam\":1}}\n{\"op\":\"qu")
        driver.write("it\"}\n{\"op\":\"nothing is read any more\n")
        #expect(driver.end() == ("", 0))
    }

    @Test(arguments: [#""1.2""#, "1.2", #""1.0""#, "1.1", #""1.9""#])
    func `the Headset Profile has versions of its own`(_ version: String) throws {
        let driver = try GatewayDriver()
        driver.configure(#""profile":"HSP_AG","version":\#(version)"#)
        let headset = try driver.connect()
        #expect(try driver.message() == #"{"op":"slc","link":0,"up":true}"#)
        driver.say(#"{"op":"quit"}"#)
        #expect(driver.end() == ("", 0))
        #expect(try headset.isClosed())
    }

    @Test func `the driver's end is the gateway's, even in the middle of a message`() throws {
        let driver = try GatewayDriver()
        driver.configure()
        let headset = try driver.headset()
        driver.write(#"{"op":"#)
        driver.hangUp()
        #expect(driver.end() == ("", 0))
        #expect(try headset.isClosed())
    }

    @Test(arguments: [
        (#""features":["three_way","teleport"]"#, #"there is no feature \"teleport\""#),
        (#""codecs":["opus"]"#, #"there is no codec \"opus\""#),
        (#""profile":"HFP_HF""#, #"profile \"HFP_HF\": accepted: HFP_AG, HSP_AG"#),
        (#""version":"2.0""#, #"version \"2.0\": accepted: 1.5 to 1.10"#),
        (#""version":"1.2""#, #"version \"1.2\": accepted: 1.5 to 1.10"#),
        (
            #""profile":"HSP_AG","version":"1.3""#,
            #"version \"1.3\": accepted: 1.0 to 1.2, or those of HFP_AG: 1.5 to 1.10"#
        ),
        (#""chld":["5"]"#, #"there is no chld option \"5\""#),
        (#""hf_indicators":{"9":"enabled"}"#, "there is no HF indicator 9; accepted: 1, 2"),
    ])
    func `an unsupported configuration is reported, which is not a failure`(_ members: String, _ why: String)
        throws
    {
        let driver = try GatewayDriver()
        driver.configure(members)
        #expect(try driver.message() == #"{"op":"unsupported","why":"\#(why)"}"#)
        #expect(driver.end() == ("", 0))
    }

    @Test(arguments: [
        ("what?", "message 2: no JSON: a value expected, not 'what?'"),
        ("[]", "message 2: message: an object in braces expected, not []"),
        (#"{"op":"quit""#, "message 2: no JSON: ',' or '}' expected, but it ends"),
        (#"{"link":0}"#, "message 2: message: \"op\" is missing: a string"),
        (
            #"{"op":"dance"}"#,
            "message 2: \"op\": one of configure, link_up, calls, event, reply, quit expected, not \"dance\""
        ),
        (#"{"op":"configure","ag":{}}"#, "message 2: \"op\": configure comes once"),
        (#"{"op":"link_up","link":0}"#, "message 2: link_up: \"path\" is missing: a string"),
        (
            #"{"op":"link_up","link":"0","path":"/"}"#,
            "message 2: link_up: \"link\": a whole number expected, not \"0\""
        ),
        (#"{"op":"reply","id":1.5,"ok":true}"#, "message 2: reply: \"id\": a whole number expected, not 1.5"),
        (#"{"op":"reply","id":1,"ok":"yes"}"#, "message 2: reply: \"ok\": true or false, 1 or 0 expected, not \"yes\""),
        (#"{"op":"calls","calls":{}}"#, "message 2: calls: \"calls\": a list expected, not {}"),
        (
            #"{"op":"calls","calls":[{"id":1,"dir":"in","state":"sleeping"}]}"#,
            "message 2: calls: \"calls\": \"state\": one of active, alerting, dialing, held, incoming, waiting expected, not \"sleeping\""
        ),
        (
            #"{"op":"calls","calls":[{"id":-1,"dir":"in","state":"active"}]}"#,
            "message 2: calls: \"calls\": \"id\": 0 to 4294967295 expected, not -1"
        ),
        (
            #"{"op":"event","link":0,"event":{"type":"audio_request","want":"more"}}"#,
            "message 2: event audio_request: \"want\": one of connect, disconnect expected, not \"more\""
        ),
        (
            #"{"op":"event","link":0,"event":{"type":"ag_volume","which":"speaker","value":null}}"#,
            "message 2: event ag_volume: \"value\" is missing: a whole number"
        ),
        (
            #"{"op":"event","link":0,"event":{"type":"set","signal":"3"}}"#,
            "message 2: event set: \"signal\": a whole number expected, not \"3\""
        ),
    ])
    func `a malformed message ends it with 2, naming the error and the accepted form`(_ message: String, _ why: String)
        throws
    {
        let driver = try GatewayDriver()
        driver.configure()
        driver.say(message)
        #expect(driver.end() == ("btcall-lab: \(why)\n", 2))
    }

    @Test func `configure is first; a configuration of the wrong kind is malformed`() throws {
        let early = try GatewayDriver()
        early.say(Self.none)
        #expect(early.end() == ("btcall-lab: message 1: \"op\": configure comes first\n", 2))
        let wrong = try GatewayDriver()
        wrong.configure(#""codecs":"cvsd""#)
        #expect(
            wrong.end() == ("btcall-lab: message 1: configure: \"ag\": \"codecs\": a list expected, not \"cvsd\"\n", 2))
        let binary = try GatewayDriver()
        binary.configure(#""memory":{"1":"5551000","x":"1"}"#)
        #expect(binary.end().text.hasSuffix("\"memory\": the number of a location expected, not \"x\"\n"))
        let unreachable = try GatewayDriver()
        unreachable.configure()
        unreachable.say(#"{"op":"link_up","link":0,"path":"/nowhere/at/all"}"#)
        let end = unreachable.end()
        #expect(
            end.text.hasPrefix(
                "btcall-lab: message 2: link_up: nobody listens at \"/nowhere/at/all\": connect: No such"))
        #expect(end.status == 2)
    }

    @Test func `without a driver it says so`() async {
        let capture = Capture()
        #expect(await GatewayCommand.serve("/nowhere/at/all", capture.sink) == 1)
        #expect(capture.errors.hasPrefix("btcall: nobody listens at /nowhere/at/all: connect: No such file"))
        #expect(await GatewayCommand.serve(String(repeating: "x", count: 200), capture.sink) == 1)
        #expect(capture.errors.contains("ENAMETOOLONG"))
    }
}
