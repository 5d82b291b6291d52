import Testing

@testable import ALSA

struct SharedPCMTests {
    @Test(arguments: [
        ("hw:0,0", "CARD=0,DEV=0"), ("hw:1", "CARD=1,DEV=0"), ("hw:Headset,2", "CARD=Headset,DEV=2"),
        ("hw:CARD=PCH,DEV=3", "CARD=PCH,DEV=3"), ("plughw:1,0", "CARD=1,DEV=0"), ("hw:1,0,4", "CARD=1,DEV=0"),
    ])
    func `a card's stream is shared by dmix and dsnoop`(name: String, card: String) {
        #expect(SharedPCM.name(of: name, .playback) == "plug:SLAVE='dmix:\(card)'")
        #expect(SharedPCM.name(of: name, .capture) == "plug:SLAVE='dsnoop:\(card)'")
    }

    @Test(arguments: ["null", "default", "plug:dmix", "sysdefault:CARD=1", "file:FILE=/tmp/x,FORMAT=raw"])
    func `other names are left unchanged`(name: String) {
        #expect(SharedPCM.name(of: name, .playback) == name)
    }
}
