import Glibc

/// A rectangular room with a loudspeaker and a microphone, by the image sources of its walls.
package struct Room: Sendable {
    package typealias Place = (x: Double, y: Double, z: Double)

    package let name: String
    /// Metres.
    private let size: Place
    private let loudspeaker: Place
    private let microphone: Place
    /// Time in seconds in which a sound decays by 60 dB.
    package let reverberation: Double

    /// Longest response in seconds; longer ones are cut off.
    private static let longest = 0.3
    private static let soundSpeed = 343.0

    package static let rooms = [
        Room(
            name: "booth", size: (2, 1.6, 2.3), loudspeaker: (0.6, 0.8, 1.3), microphone: (0.6, 0.8, 1.05),
            reverberation: 0.2),
        Room(
            name: "office", size: (4, 3.2, 2.6), loudspeaker: (2, 1.5, 1), microphone: (2.15, 1.5, 1),
            reverberation: 0.35),
        Room(
            name: "living room", size: (5.5, 4, 2.6), loudspeaker: (2, 1.5, 0.8), microphone: (2.4, 1.9, 0.9),
            reverberation: 0.5),
        Room(
            name: "hall", size: (9, 6, 3.2), loudspeaker: (3, 2, 1.2), microphone: (3.5, 2, 1.2), reverberation: 0.7),
    ]

    /// The same room with the microphone moved by 25 cm in each direction.
    package var moved: Room {
        Room(
            name: name, size: size, loudspeaker: loudspeaker,
            microphone: (microphone.x + 0.25, microphone.y + 0.25, microphone.z + 0.25), reverberation: reverberation)
    }

    /// The microphone's response to one sample of the loudspeaker.
    package func response(rate: Int) -> [Float] {
        let volume = size.x * size.y * size.z
        let surface = 2 * (size.x * size.y + size.y * size.z + size.x * size.z)
        // Eyring's formula, for the share reflected by walls.
        let reflection = exp(-0.161 * volume / (surface * reverberation) / 2)
        let frames = Int(min(Self.longest, reverberation * 1.1) * Double(rate))
        var response = [Double](repeating: 0, count: frames + 1)
        let reach = Double(frames) / Double(rate) * Self.soundSpeed
        var random = SeededRandom(1)
        func images(_ length: Double, _ from: Double, _ to: Double) -> [(distance: Double, reflections: Int)] {
            let most = Int((reach / (2 * length)).rounded(.up)) + 1
            var all: [(distance: Double, reflections: Int)] = []
            for turn in -most...most {
                let shift = 2 * Double(turn) * length - to
                all.append((shift + from, 2 * Int(turn.magnitude)))
                all.append((shift - from, Int((turn - 1).magnitude) + Int(turn.magnitude)))
            }
            return all
        }
        let (xs, ys, zs) = (
            images(size.x, loudspeaker.x, microphone.x), images(size.y, loudspeaker.y, microphone.y),
            images(size.z, loudspeaker.z, microphone.z)
        )
        for x in xs {
            for y in ys where x.distance * x.distance + y.distance * y.distance < reach * reach {
                for z in zs {
                    let squared = x.distance * x.distance + y.distance * y.distance + z.distance * z.distance
                    if squared >= reach * reach { continue }
                    let distance = squared.squareRoot()
                    let reflections = x.reflections + y.reflections + z.reflections
                    // Real walls are not perfectly straight.
                    let jitter = reflections == 0 ? 0 : Double.random(in: -0.3...0.3, using: &random)
                    let place = max(0, distance / Self.soundSpeed * Double(rate) + jitter)
                    let index = Int(place)
                    if index >= frames { continue }
                    let part = place - Double(index)
                    let strength = pow(reflection, Double(reflections)) / max(distance, 0.03)
                    response[index] += strength * (1 - part)
                    response[index + 1] += strength * part
                }
            }
        }
        return Self.withoutLowest(response, rate).map { Float($0) }
    }

    /// Small loudspeakers emit nothing below 150 Hz.
    private static func withoutLowest(_ values: [Double], _ rate: Int) -> [Double] {
        let keep = exp(-2 * .pi * 150 / Double(rate))
        var (last, result) = (0.0, 0.0)
        return values.map { value in
            result = keep * (result + value - last)
            last = value
            return result
        }
    }
}
