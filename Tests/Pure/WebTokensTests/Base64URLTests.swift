import TestSupport
import Testing
import WebTokens

@Suite struct Base64URLTests {
    @Test func `texts are those of RFC 4648 without padding`() {
        let texts = [
            "": "", "f": "Zg", "fo": "Zm8", "foo": "Zm9v", "foob": "Zm9vYg", "fooba": "Zm9vYmE", "foobar": "Zm9vYmFy",
        ]
        for (bytes, text) in texts {
            #expect(Base64URL.text(bytes.utf8) == text)
            #expect(Base64URL.bytes(text.utf8) == Array(bytes.utf8))
        }
        #expect(Base64URL.text([0xFB, 0xFF, 0xBF]) == "-_-_")
    }

    @Test func `random bytes come back, of every length`() {
        var random = SeededGenerator(seed: 27)
        for length in 0..<200 {
            let bytes = (0..<length).map { _ in UInt8.random(in: 0...255, using: &random) }
            #expect(Base64URL.bytes(Base64URL.text(bytes).utf8) == bytes)
        }
    }

    @Test(arguments: [
        "Z", "Zg=", "Zg==", "Zh", "Zm9", "Zm+v", "Zm/v", "Zm9v\n", " Zm9v", "Zm 9v", "Zm9vé", "Zm9v\u{0}", "Zm9vA",
    ])
    func `any other text is refused`(_ text: String) {
        #expect(Base64URL.bytes(text.utf8) == nil)
    }
}
