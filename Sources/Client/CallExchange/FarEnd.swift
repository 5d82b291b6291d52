import Glibc

/// The audio of a test call's far end, block by block.
package struct FarEnd: Sendable {
    package enum Source: Hashable, Sendable {
        case tone(hertz: Double)
        case file(String)

        /// Reads `tone:HZ` or a file name; nil for a tone that is not a number from 20 to 20000.
        package init?(_ text: String) {
            guard text.hasPrefix("tone:") else {
                self = .file(text)
                return
            }
            guard let hertz = Double(text.dropFirst(5)), (20...20000).contains(hertz) else { return nil }
            self = .tone(hertz: hertz)
        }
    }

    /// Sample rate in Hz.
    package let rate: Int
    private let content: Content
    private let loops: Bool
    private var position = 0

    private enum Content {
        case tone(radiansPerFrame: Double)
        case samples([Int16])
    }

    /// - Parameters:
    ///   - rate: rate of a tone; a file has its own.
    ///   - loops: whether a file starts again after its end; otherwise silence follows.
    package init(_ source: Source, rate: Int, loops: Bool) throws(WaveFileError) {
        self.loops = loops
        switch source {
        case .tone(let hertz):
            self.rate = rate
            content = .tone(radiansPerFrame: 2 * Double.pi * hertz / Double(rate))
        case .file(let path):
            let file = try WaveFile(path: path)
            self.rate = file.rate
            content = .samples(file.samples)
        }
    }

    package init(samples: [Int16], rate: Int, loops: Bool = false) {
        self.rate = rate
        self.loops = loops
        content = .samples(samples)
    }

    /// Fills `block` with the next samples.
    package mutating func fill(_ block: inout [Int16]) {
        switch content {
        case .tone(let step):
            // A quarter of full scale: about the level of speech.
            for index in block.indices {
                block[index] = Int16(8192 * sin(step * Double(position + index)))
            }
            position += block.count
        case .samples(let samples):
            for index in block.indices {
                if position >= samples.count && loops { position = 0 }
                block[index] = position < samples.count ? samples[position] : 0
                position += 1
            }
        }
    }
}
