import AudioDSP
import Glibc
import Testing

struct LevelMeterTests {
    private func fill(_ meter: inout LevelMeter, seconds: Double, _ sample: (Int) -> Int16) {
        for block in 0..<Int(seconds * 100) {
            let samples = (0..<160).map { sample(block * 160 + $0) }
            meter.measure(samples, 160)
        }
    }

    @Test func `A full-scale sine has its peak at full scale and half the power`() {
        var meter = LevelMeter()
        fill(&meter, seconds: 3) { Int16(32_767 * sin(Double($0) * 2 * .pi * 400 / 16_000)) }
        #expect(meter.peak == 32_767)
        let share = Double(meter.power) / 1_073_741_824
        #expect(abs(share - 0.5) < 0.001)
    }

    @Test func `The loudest negative sample is full scale`() {
        var meter = LevelMeter()
        fill(&meter, seconds: 3) { _ in .min }
        #expect(meter.peak == 32_768)
        #expect(meter.power > 1_073_741_824 / 1000 * 999 && meter.power <= 1_073_741_824)
    }

    @Test func `After a sound the peak falls by 14 dB a second and the power to nothing`() {
        var meter = LevelMeter()
        fill(&meter, seconds: 1) { _ in 16_384 }
        fill(&meter, seconds: 1) { _ in 0 }
        let fall = 20 * log10(Double(meter.peak) / 16_384)
        #expect(abs(fall + 13.7) < 0.3)
        fill(&meter, seconds: 10) { _ in 0 }
        #expect(meter.peak <= 1 && meter.power == 0)
    }

    @Test func `No samples change nothing, and a reset gives silence`() {
        var meter = LevelMeter()
        meter.measure([100], 1)
        let (peak, power) = (meter.peak, meter.power)
        meter.measure([100], 0)
        #expect(peak == 100 && meter.peak == peak && meter.power == power)
        meter.forget()
        #expect(meter.peak == 0 && meter.power == 0)
    }
}
