import BluetoothTypes
import HandsFree
import Testing

/// Reasons why a headset is not used with the best codec.
@Suite struct CodecLimitTests {
    private func negotiation(
        ours: [VoiceCodec] = [.mSBC, .cvsd], theirs: [VoiceCodec]? = [.cvsd, .mSBC], memory: CodecMemory = CodecMemory()
    ) -> CodecNegotiation {
        var negotiation = CodecNegotiation(codecs: ours, memory: memory)
        _ = negotiation.support(true, at: .zero)
        if let theirs { _ = negotiation.codecsOffered(theirs, at: .zero) }
        return negotiation
    }

    @Test func `nothing limits a headset that offers our codecs`() {
        #expect(negotiation().limit == nil)
        #expect(negotiation(ours: [.lc3SWB, .mSBC, .cvsd]).limit == nil)
    }

    @Test func `each limit has its name`() {
        #expect(negotiation(ours: [.cvsd]).limit == .notOffered)
        #expect(negotiation(theirs: nil).limit == .headset)
        #expect(negotiation(theirs: [.cvsd]).limit == .headset)
        let both: [VoiceCodec] = [.cvsd, .mSBC]
        #expect(negotiation(memory: CodecMemory(lacking: [.mSBC], offered: both)).limit == .adapter(.mSBC))
        #expect(negotiation(memory: CodecMemory(unanswered: 2, offered: both)).limit == .unanswered(connections: 2))
        #expect(
            negotiation(memory: CodecMemory(ceiling: .cvsd, failures: 2, offered: both)).limit
                == .failed(.mSBC, connections: 2))
        // One failure is chance, and knowledge about another list does not apply.
        #expect(negotiation(memory: CodecMemory(ceiling: .cvsd, failures: 1, offered: both)).limit == nil)
        #expect(negotiation(memory: CodecMemory(ceiling: .cvsd, failures: 2, offered: [.mSBC])).limit == nil)
        var unsupported = negotiation()
        _ = unsupported.support(false, at: .zero)
        #expect(unsupported.limit == .headset)
    }

    @Test func `a failure limits this connection, until it is forgotten`() {
        var negotiation = negotiation()
        #expect(negotiation.start(hint: nil, at: .zero) == [.propose(.mSBC)])
        _ = negotiation.confirmed(2, at: .zero)
        #expect(negotiation.failed(.refused, at: .zero).first == .steppedDown(from: .mSBC, .refused))
        #expect(negotiation.limit == .failed(.mSBC, connections: 0))
        _ = negotiation.confirmed(1, at: .zero)
        _ = negotiation.opened(.cvsd)
        #expect(negotiation.memory.failures == 1)
        negotiation.forget()
        #expect(negotiation.limit == nil && negotiation.memory == CodecMemory())
        _ = negotiation.closed(at: .zero)
        #expect(negotiation.start(hint: nil, at: .zero) == [.propose(.mSBC)])
        // The next failure counts as the first.
        _ = negotiation.confirmed(2, at: .zero)
        _ = negotiation.failed(.refused, at: .zero)
        _ = negotiation.confirmed(1, at: .zero)
        _ = negotiation.opened(.cvsd)
        #expect(negotiation.memory.failures == 1)
    }

    @Test func `a quirk and the Headset Profile take precedence`() {
        var configuration = AudioGatewayConfiguration()
        configuration.quirks.brokenCodecs = [.mSBC]
        var gateway = AudioGateway(configuration: configuration)
        _ = gateway.start(at: .zero)
        #expect(gateway.codecLimit == nil)
        let commands = ["AT+BRSF=128", "AT+BAC=1,2", "AT+CIND=?", "AT+CIND?", "AT+CMER=3,0,0,1"]
        for command in commands { _ = gateway.bytesReceived((command + "\r").utf8, at: .zero) }
        #expect(gateway.isEstablished && gateway.codecLimit == .quirk(.mSBC))
        configuration.profile = .headset
        var old = AudioGateway(configuration: configuration)
        _ = old.start(at: .zero)
        #expect(old.codecLimit == .headsetProfile)
    }
}
