/// The whole gateway over dialogues: an input consists of five bytes for the configuration, and then steps.
///
/// Bytes below 0x80 are sent by the headset, so that an input reads like a dialogue; 0x80 and above are other events
/// (`GatewayWorld.step`), followed by their operands. The headset's bytes are delivered at the next other event.
enum GatewayTarget {
    /// Most bytes that one input makes the headset send.
    private static let byteLimit = 3000

    static func run(_ input: [UInt8]) throws(BrokenRule) {
        var steps = StepReader(input)
        var world = GatewayWorld(configuration: GatewayConfigurationReader.read(&steps))
        try world.connect()
        var text: [UInt8] = []
        var total = 0
        while !steps.isAtEnd, total < byteLimit {
            let byte = steps.byte()
            switch byte {
            case 0..<0x80:
                text.append(byte)
                total += 1
            case 0xFF:
                text.append(steps.byte())
                total += 1
            case 0xFE:
                // The same text repeated: for overlong lines and large amounts.
                let count = min(steps.below(256) * text.count, byteLimit)
                text = (0..<count).map { text[$0 % text.count] }
                total += count
            default:
                try world.say(text)
                text = []
                try world.step(byte, &steps)
            }
        }
        try world.say(text)
    }
}
