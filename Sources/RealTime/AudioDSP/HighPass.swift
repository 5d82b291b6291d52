import Glibc

/// Removes sound below speech: hum, wind, handling noise (Butterworth, second order, 100 Hz).
struct HighPass: Sendable {
    private let b: Float
    private let a1: Float
    private let a2: Float
    private var s1: Float = 0
    private var s2: Float = 0

    init(rate: Int, hertz: Float = 100) {
        // The bilinear transform.
        let k = tan(Float.pi * hertz / Float(max(rate, 1)))
        let norm = 1 / (1 + Float(2).squareRoot() * k + k * k)
        b = norm
        a1 = 2 * (k * k - 1) * norm
        a2 = (1 - Float(2).squareRoot() * k + k * k) * norm
    }

    @_noLocks
    mutating func process(_ input: UnsafePointer<Float>, into output: UnsafeMutablePointer<Float>, _ frames: Int) {
        var index = 0
        while index < frames {
            let value = input[index]
            let result = b * value + s1
            s1 = -2 * b * value - a1 * result + s2
            s2 = b * value - a2 * result
            output[index] = result
            index &+= 1
        }
    }
}
