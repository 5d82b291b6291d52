import Glibc

/// Convolution of long signals by the Fourier transform.
enum Convolution {
    /// The result is as long as `signal`: the tail is cut off.
    static func convolve(_ signal: [Float], _ response: [Float]) -> [Float] {
        var size = 1_024
        while size < 2 * response.count { size *= 2 }
        let step = size - response.count
        let transform = Transform(size)
        var (filterReal, filterImaginary) = (padded(response[...], size), [Float](repeating: 0, count: size))
        transform.run(&filterReal, &filterImaginary, isInverse: false)
        var output = [Float](repeating: 0, count: signal.count)
        for start in stride(from: 0, to: signal.count, by: step) {
            var real = padded(signal[start..<min(start + step, signal.count)], size)
            var imaginary = [Float](repeating: 0, count: size)
            transform.run(&real, &imaginary, isInverse: false)
            for index in 0..<size {
                let value = real[index] * filterReal[index] - imaginary[index] * filterImaginary[index]
                imaginary[index] = real[index] * filterImaginary[index] + imaginary[index] * filterReal[index]
                real[index] = value
            }
            transform.run(&real, &imaginary, isInverse: true)
            for index in 0..<min(size, output.count - start) { output[start + index] += real[index] }
        }
        return output
    }

    private static func padded(_ values: ArraySlice<Float>, _ size: Int) -> [Float] {
        Array(values) + [Float](repeating: 0, count: size - values.count)
    }

    /// Radix 2, in place.
    private struct Transform {
        private let size: Int
        private let cosines: [Float]
        private let sines: [Float]

        init(_ size: Int) {
            self.size = size
            cosines = (0..<size / 2).map { Float(cos(2 * Double.pi * Double($0) / Double(size))) }
            sines = (0..<size / 2).map { Float(sin(2 * Double.pi * Double($0) / Double(size))) }
        }

        func run(_ real: inout [Float], _ imaginary: inout [Float], isInverse: Bool) {
            real.withUnsafeMutableBufferPointer { real in
                imaginary.withUnsafeMutableBufferPointer { imaginary in
                    cosines.withUnsafeBufferPointer { cosines in
                        sines.withUnsafeBufferPointer { sines in
                            run(real, imaginary, cosines, sines, sign: isInverse ? 1 : -1)
                        }
                    }
                }
            }
        }

        private func run(
            _ real: UnsafeMutableBufferPointer<Float>, _ imaginary: UnsafeMutableBufferPointer<Float>,
            _ cosines: UnsafeBufferPointer<Float>, _ sines: UnsafeBufferPointer<Float>, sign: Float
        ) {
            var mirrored = 0
            for index in 1..<size {
                var bit = size >> 1
                while mirrored & bit != 0 {
                    mirrored ^= bit
                    bit >>= 1
                }
                mirrored |= bit
                if index < mirrored {
                    real.swapAt(index, mirrored)
                    imaginary.swapAt(index, mirrored)
                }
            }
            var half = 1
            while half < size {
                let turn = size / (2 * half)
                var start = 0
                while start < size {
                    var offset = 0
                    while offset < half {
                        let (c, s) = (cosines[offset &* turn], sign * sines[offset &* turn])
                        let (low, upper) = (start &+ offset, start &+ offset &+ half)
                        let r = real[upper] * c - imaginary[upper] * s
                        let i = real[upper] * s + imaginary[upper] * c
                        real[upper] = real[low] - r
                        imaginary[upper] = imaginary[low] - i
                        real[low] += r
                        imaginary[low] += i
                        offset &+= 1
                    }
                    start &+= 2 &* half
                }
                half &*= 2
            }
            if sign > 0 {
                for index in 0..<size {
                    real[index] /= Float(size)
                    imaginary[index] /= Float(size)
                }
            }
        }
    }
}
