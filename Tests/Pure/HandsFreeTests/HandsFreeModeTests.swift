import HandsFree
import Testing

/// Row S3.7: the mode `hfp`, from the headset's first byte to the audio link, as transcripts. `GoldenFrameTests` of
/// AudioDSPTests has the frames on that link.
struct HandsFreeModeTests {
    @Test(arguments: ["mSBC", "CVSD", "CVSD unasked"])
    func `S3.7 the gateway and a headset reach their codec and audio link as in the transcript`(codec: String) throws {
        let dialogues = try DialogueReader.dialogues(Self.transcripts, file: "HandsFreeModeTests")
        let dialogue = try #require(dialogues.first { $0.name == codec })
        let whole = DialoguePlayer.play(dialogue)
        #expect(whole == nil, "\(whole.map { "\($0)" } ?? "")")
        let byBytes = DialoguePlayer.play(dialogue) { bytes in bytes.map { [$0] } }
        #expect(byBytes == nil, "byte by byte: \(byBytes.map { "\($0)" } ?? "")")
    }

    @Test func `S3.7 a transcript with another codec fails`() throws {
        for (right, wrong) in [("+BCS: 2", "+BCS: 1"), ("link    connect mSBC", "link    connect CVSD")] {
            let changed = Self.transcripts.split(separator: "\n", omittingEmptySubsequences: false).map { line in
                line.hasSuffix(right) ? String(line.dropLast(right.count)) + wrong : String(line)
            }
            #expect(changed.joined(separator: "\n") != Self.transcripts)
            let dialogues = try DialogueReader.dialogues(changed.joined(separator: "\n"), file: "HandsFreeModeTests")
            let dialogue = try #require(dialogues.first { $0.name == "mSBC" })
            #expect(DialoguePlayer.play(dialogue) != nil)
        }
    }

    private static let transcripts = """
        source: the project's own

        dialogue: mSBC
        case: ACC/BV-19

        HF      AT+BRSF=159
        AG      +BRSF: 4073
        AG      OK
        HF      AT+BAC=1,2
        event   codecs CVSD,mSBC
        AG      OK
        HF      AT+CIND=?
        AG      +CIND: ("service",(0,1)),("call",(0,1)),…
        AG      OK
        HF      AT+CIND?
        AG      +CIND: 1,0,0,0,5,0,5
        AG      OK
        HF      AT+CMER=3,0,0,1
        AG      OK
        HF      AT+CHLD=?
        AG      +CHLD: (0,1,1x,2,2x)
        AG      OK
        event   established CVSD,mSBC
        audio   wanted
        AG      +BCS: 2
        HF      AT+BCS=2
        AG      OK
        link    connect mSBC
        audio   opened mSBC
        audio   unwanted
        link    disconnect
        audio   closed

        dialogue: CVSD
        case: ACC/BV-16

        HF      AT+BRSF=159
        AG      +BRSF: 4073
        AG      OK
        HF      AT+BAC=1
        event   codecs CVSD
        AG      OK
        HF      AT+CIND=?
        AG      +CIND: ("service",(0,1)),("call",(0,1)),…
        AG      OK
        HF      AT+CIND?
        AG      +CIND: 1,0,0,0,5,0,5
        AG      OK
        HF      AT+CMER=3,0,0,1
        AG      OK
        HF      AT+CHLD=?
        AG      +CHLD: (0,1,1x,2,2x)
        AG      OK
        event   established CVSD
        audio   wanted
        AG      +BCS: 1
        HF      AT+BCS=1
        AG      OK
        link    connect CVSD
        audio   opened CVSD

        dialogue: CVSD unasked
        case: ACC/BV-09

        HF      AT+BRSF=28
        AG      +BRSF: 4073
        AG      OK
        HF      AT+CIND=?
        AG      +CIND: ("service",(0,1)),("call",(0,1)),…
        AG      OK
        HF      AT+CIND?
        AG      +CIND: 1,0,0,0,5,0,5
        AG      OK
        HF      AT+CMER=3,0,0,1
        AG      OK
        event   established -
        audio   wanted
        link    connect CVSD
        audio   opened CVSD
        """
}
