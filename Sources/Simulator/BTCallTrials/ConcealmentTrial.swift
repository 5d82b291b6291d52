package import AudioDSP
import Glibc

/// Speech through a codec and a lossy link, and the result of each way to fill the gaps.
package struct ConcealmentTrial {
    package enum Method: String, CaseIterable, Sendable {
        case silence, repetition, concealment
    }

    /// The result, compared with the same link without loss.
    package struct Figures: Sendable {
        /// Ratio in decibels of the lost parts of the signal to the error there.
        package var lostRatio = 0.0
        /// Excess level in decibels of the result in the lost parts over the lost signal.
        package var lostEnergy = 0.0
        /// The same as `lostRatio` for the first 7.5 ms after each loss.
        package var afterRatio = 0.0
        package var clicks = 0
        package var losses = 0
    }

    package let format: LinkFormat
    /// A packet's audio: 7.5 ms.
    package let packetFrames: Int
    package let isLost: [Bool]
    /// The output when everything arrives.
    package let reference: [Int16]
    private let packets: [[UInt8]]
    /// A controller's output when packets are lost (CVSD).
    private let damaged: [Int16]

    package init(_ format: LinkFormat, _ speech: [Int16], _ pattern: LossPattern, seed: UInt64 = 1) {
        self.format = format
        packetFrames = format.rate * 75 / 10_000
        let count = speech.count / packetFrames
        isLost = pattern.losses(packets: count, spared: 500 * 10 / 75, seed: seed)
        switch format {
        case .lc3SWB: preconditionFailure("a trial is of mSBC or CVSD")
        case .mSBC:
            packets = Self.encode(speech, count)
            reference = Self.decode(packets)
            damaged = []
        case .cvsd, .pcm16:
            var (codec, whole, lossy) = (CVSDCodec(), [Int16](), [Int16]())
            var behind = codec
            for index in 0..<count {
                let bytes = codec.encode(speech[(index * packetFrames)..<((index + 1) * packetFrames)])
                whole += codec.decode(bytes)
                lossy += isLost[index] ? behind.decodeLost(frames: packetFrames) : behind.decode(bytes)
            }
            (packets, reference, damaged) = ([], whole, lossy)
        }
    }

    /// The output of a method.
    package func heard(_ method: Method) -> [Int16] {
        switch method {
        case .concealment: concealed()
        case .silence, .repetition: substituted(repeating: method == .repetition)
        }
    }

    package func figures(_ heard: [Int16]) -> Figures {
        var figures = Figures()
        var (signal, noise, made) = (0.0, 0.0, 0.0)
        var (signalAfter, noiseAfter) = (0.0, 0.0)
        for (number, lost) in isLost.enumerated() {
            let follows = number > 0 && isLost[number - 1] && !lost
            if lost && !isLost[number - 1] { figures.losses += 1 }
            if !lost && !follows { continue }
            for index in (number * packetFrames)..<((number + 1) * packetFrames) {
                let wanted = Double(reference[index])
                let error = Double(heard[index]) - wanted
                if lost {
                    signal += wanted * wanted
                    noise += error * error
                    made += Double(heard[index]) * Double(heard[index])
                } else {
                    signalAfter += wanted * wanted
                    noiseAfter += error * error
                }
            }
        }
        figures.lostRatio = Self.decibels(signal, noise)
        figures.lostEnergy = Self.decibels(made, signal)
        figures.afterRatio = Self.decibels(signalAfter, noiseAfter)
        figures.clicks = ClickDetector.clicks(in: heard, reference: reference, rate: format.rate).count
        return figures
    }

    private static func decibels(_ power: Double, _ other: Double) -> Double {
        10 * log10(max(power, 1e-3) / max(other, 1e-3))
    }

    // MARK: Methods

    /// The daemon's own receiver.
    private func concealed() -> [Int16] {
        var receiver = LinkReceiver(format)
        var result: [Int16] = []
        var output = [Int16](repeating: 0, count: 1_024)
        for (number, lost) in isLost.enumerated() {
            let packet: [UInt8]
            switch format {
            case .mSBC, .lc3SWB:
                packet = packets[number]
            case .cvsd, .pcm16:
                packet = damaged[(number * packetFrames)..<((number + 1) * packetFrames)].flatMap { sample in
                    [UInt8(truncatingIfNeeded: sample), UInt8(truncatingIfNeeded: sample >> 8)]
                }
            }
            let made = receiver.receive(
                packet, packet.count, status: lost ? 1 : 0, into: &output, capacity: output.count)
            result += output[0..<made]
        }
        return result
    }

    /// Replaces lost parts with silence, or with the last audio again; the rest is the decoder's output.
    private func substituted(repeating: Bool) -> [Int16] {
        var codec = MSBCCodec()
        var result: [Int16] = []
        var block = [Int16](repeating: 0, count: packetFrames)
        for (number, lost) in isLost.enumerated() {
            if lost {
                if !repeating { block = [Int16](repeating: 0, count: packetFrames) }
            } else if format == .mSBC {
                _ = Array(packets[number][2..<59]).withUnsafeBufferPointer { bytes in
                    bytes.baseAddress.map { codec.decode($0, into: &block) }
                }
            } else {
                block = Array(damaged[(number * packetFrames)..<((number + 1) * packetFrames)])
            }
            result += block
        }
        return result
    }

    // MARK: mSBC

    private static func encode(_ speech: [Int16], _ count: Int) -> [[UInt8]] {
        var transmitter = LinkTransmitter(.mSBC)
        return (0..<count).map { number in
            let block = Array(speech[(number * 120)..<((number + 1) * 120)])
            var packet = [UInt8](repeating: 0, count: 60)
            _ = transmitter.makePacket(&packet, 60, from: block, 120)
            return packet
        }
    }

    private static func decode(_ packets: [[UInt8]]) -> [Int16] {
        var receiver = LinkReceiver(.mSBC)
        var output = [Int16](repeating: 0, count: 1_024)
        return packets.flatMap { packet in
            let made = receiver.receive(packet, packet.count, status: 0, into: &output, capacity: output.count)
            return Array(output[0..<made])
        }
    }
}
