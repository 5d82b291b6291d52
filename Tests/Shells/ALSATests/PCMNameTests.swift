import ALSA
import Testing

@Suite struct PCMNameTests {
    @Test(arguments: [
        "default", "horn", "my-horn_2", "null", "hw:0", "hw:0,0", "hw:1,0,7", "hw:CARD=PCH,DEV=0", "plughw:CARD=PCH",
        "plughw:Loopback,1", "sysdefault:CARD=b1", "default:CARD=0", "dmix:CARD=PCH,DEV=0", "dsnoop:0,1", "front:PCH",
        "surround51:CARD=PCH,DEV=0", "hdmi:CARD=vc4hdmi,DEV=0", "iec958:0", "plug:horn", "plug:hw:0", "plug:'hw:0,0'",
        "plug:SLAVE='dmix:CARD=PCH,DEV=0'", "plug:SLAVE=\"hw:0,0\"", "plug:SLAVE=default",
    ])
    func `names of cards and plain names are accepted`(name: String) {
        #expect(PCMName.isAccepted(name))
    }

    @Test(arguments: [
        "", "file", "tee", "shm", "btcall", "btcall:ring", "btcall:ROLE=call,SOCKET=/tmp/x", "file:/tmp/x", "file:|id",
        "file:FILE=/tmp/x,FORMAT=raw", "file:'|touch /tmp/x',raw", "tee:null,'|touch /tmp/x',raw",
        "tee:hw:0,/tmp/x,raw",
        "plug:'file:/tmp/x'", "plug:file:/tmp/x", "plug:tee", "plug:SLAVE='tee:null,/tmp/x,raw'", "plug:plug:horn",
        "plug:'hw:0", "plug:hw:0'", "plug:", "plug:''", "plug:'", "shm:/tmp/socket,null", "{type file}",
        "{ type file file '|id' slave.pcm null }", "plug:{SLAVE={type file}}", "plug:SLAVE={ type file }",
        "hw:{CARD 0}", "hw:0,0,0,0", "hw:0,x", "hw:CARD=../x", "hw:CARD=0,FILE=/tmp/x", "hw:'0'", "hw:", "hw:0,",
        "hw:0 ", " hw:0", "hw:DEV=x", "hw:0,DEV=1234", "jack:CARD=0", "ladspa:x", "pulse:server", "a.b", "a/b", "a b",
        "a'b", "a\"b", "a\nb", "a$b", "höhrn", "horn;x", "../../etc", "multi:hw:0", "surround99:0", "hw:0;x",
    ])
    func `names with other arguments, another form, or of PCMs that write are refused`(name: String) {
        #expect(!PCMName.isAccepted(name))
    }

    @Test func `an overlong name is refused`() {
        #expect(PCMName.isAccepted(String(repeating: "a", count: 64)))
        #expect(!PCMName.isAccepted(String(repeating: "a", count: 65)))
        #expect(!PCMName.isAccepted("hw:" + String(repeating: "a", count: 65)))
    }
}
