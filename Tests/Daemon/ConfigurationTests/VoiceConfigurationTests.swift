import AudioDSP
import Configuration
import Testing

@Suite struct VoiceConfigurationTests {
    @Test func `S1.3 S3.3 processing is on by default, with every stage, by the best built-in processor`() throws {
        let standard = Configuration()
        #expect(standard.voiceProcessing == (VoiceProcessingKind.webrtc.isAvailable ? .webrtc : .speex))
        #expect(standard.voiceStages == .all)
        #expect(standard.takesOutEcho)
    }

    @Test(arguments: [
        ("voiceProcessing", "speex", true), ("voiceProcessing", "NONE", true), ("voiceProcessing", "loud", false),
        ("echoCancellation", "no", true), ("noiseSuppression", "off", true), ("automaticGain", "maybe", false),
        ("highPass", "0", true),
    ])
    func `the keys of voice processing accept their documented values`(_ key: String, _ value: String, _ isTaken: Bool)
        throws
    {
        let text = "[audio]\n\(key) = \(value)\n"
        do throws(ConfigurationError) {
            let configuration = try Configuration(text: text, name: "file")
            #expect(isTaken && configuration.givenSettings == ["audio.\(key)"])
            let isOther = configuration.voiceProcessing.rawValue == value.lowercased()
            #expect(isOther || configuration.voiceStages != .all)
        } catch {
            #expect(!isTaken && "\(error)".contains(key == "voiceProcessing" ? "speex" : "yes or no"))
        }
    }
}
