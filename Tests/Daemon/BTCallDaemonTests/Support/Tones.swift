import Foundation

/// The share of a piece's energy at one frequency.
func share(_ samples: some Collection<Int16>, _ hertz: Double, rate: Double = 48_000) -> Double {
    var (real, imaginary, energy) = (0.0, 0.0, 0.0)
    for (index, sample) in samples.enumerated() {
        let angle = 2 * .pi * hertz * Double(index) / rate
        real += Double(sample) * cos(angle)
        imaginary += Double(sample) * sin(angle)
        energy += Double(sample) * Double(sample)
    }
    return energy > 0 ? 2 * (real * real + imaginary * imaginary) / (energy * Double(samples.count)) : 0
}

/// Root of the mean square.
func level(_ samples: some Collection<Int16>) -> Double {
    guard !samples.isEmpty else { return 0 }
    return (samples.reduce(0.0) { $0 + Double($1) * Double($1) } / Double(samples.count)).squareRoot()
}

/// The path of a ring tone file with one frequency.
func ringFile(_ hertz: Double, rate: Int = 16_000) throws -> String {
    let path = FileManager.default.temporaryDirectory.appending(path: "btcall-ring-\(UUID().uuidString).wav").path()
    func bytes(_ number: Int, _ count: Int) -> [UInt8] {
        (0..<count).map { UInt8(truncatingIfNeeded: number >> (8 * $0)) }
    }
    let samples = (0..<rate).map { Int(16_000 * sin(2 * .pi * hertz * Double($0) / Double(rate))) }
    let header =
        Array("RIFF".utf8) + bytes(36 + rate * 2, 4) + Array("WAVEfmt ".utf8) + bytes(16, 4) + bytes(1, 2)
        + bytes(1, 2) + bytes(rate, 4) + bytes(rate * 2, 4) + bytes(2, 2) + bytes(16, 2)
    let data = Array("data".utf8) + bytes(rate * 2, 4) + samples.flatMap { bytes($0, 2) }
    try Data(header + data).write(to: URL(filePath: path))
    return path
}
