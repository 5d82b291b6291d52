import AudioDSP
import CBTCall
import Foundation
import Synchronization
import Testing

@testable import AudioEngine

/// Clients that write more than is heard.
extension RealtimeTests {
    @Suite struct Floods {
        /// Writes messages to a packet socket until it is stopped.
        private final class Flood: Sendable {
            private let descriptor: Int32
            private let isStopped = Mutex(false)
            private let sent = Mutex(0)
            private let ended = DispatchSemaphore(value: 0)

            init(_ descriptor: Int32, bytes: Int) {
                self.descriptor = descriptor
                _ = startThread { [self] in
                    let message = [UInt8](repeating: 0, count: bytes)
                    while !isStopped.withLock({ $0 }) {
                        if send(descriptor, message, bytes, Int32(MSG_DONTWAIT | MSG_NOSIGNAL)) == bytes {
                            sent.withLock { $0 += 1 }
                        } else {
                            usleep(50)
                        }
                    }
                    ended.signal()
                }
            }

            var count: Int { sent.withLock { $0 } }

            func stop() {
                isStopped.withLock { $0 = true }
                ended.wait()
            }
        }

        @Test(arguments: [false, true])
        func `a provider that writes without end wakes the thread a few times in 10 ms`(isActive: Bool) throws {
            let bench = try EngineBench()
            let ends = packetSocketPair()
            try bench.engine.attachCall(1, descriptor: ends.ours, rate: 16_000, active: isActive)
            let flood = Flood(ends.theirs, bytes: isActive ? 320 : 2)
            #expect(bench.waitUntil { flood.count > 100 })
            let (before, start) = (bench.engine.counters().wakeUps, btcall_monotonic_nanoseconds())
            usleep(500_000)
            let wakeUps = bench.engine.counters().wakeUps - before
            let ticks = Int(btcall_monotonic_nanoseconds() - start) / 10_000_000 + 1
            // The allowed ones, the tick, the end of its rest; twice that for beginnings and ends in between.
            #expect(wakeUps <= 2 * ticks * (CallPort.mostUnasked + 2), "\(wakeUps) in \(ticks) ticks")
            let call = try #require(bench.call(1))
            #expect(call.blocksReceived + call.blocksBad > 0)
            flood.stop()
            // Its data is read to the end when it leaves.
            close(ends.theirs)
            #expect(bench.wait { $0 == .callClosed(1, code: 0) } != nil)
            bench.engine.stop()
        }

        @Test func `many answers of a provider at once are read at once`() throws {
            let bench = try EngineBench()
            bench.engine.setPrimeBlocks(16)
            let ends = packetSocketPair()
            try bench.engine.attachCall(1, descriptor: ends.ours, rate: 16_000, active: true)
            #expect(bench.waitUntil { bench.call(1)?.blocksSent == 16 })
            let block = [UInt8](repeating: 0, count: 320)
            let start = btcall_monotonic_nanoseconds()
            for _ in 0..<16 { #expect(send(ends.theirs, block, block.count, 0) == 320) }
            #expect(bench.waitUntil { (bench.call(1)?.blocksReceived ?? 0) >= 16 })
            // Without waiting for the next 10 ms like a provider with unsolicited messages.
            var bytes: Int32 = -1
            #expect(ioctl(ends.ours, UInt(FIONREAD), &bytes) == 0 && bytes == 0)
            #expect(btcall_monotonic_nanoseconds() - start < 1_000_000_000)
            bench.engine.detachCall(1)
            bench.engine.stop()
            close(ends.theirs)
        }

        @Test func `a socket full of tiny messages is discarded in several turns, and later data is kept`() throws {
            let ends = packetSocketPair()
            let counters = UnsafeMutablePointer<InjectionCounters>.allocate(capacity: 1)
            counters.initialize(to: InjectionCounters())
            defer {
                counters.deinitialize(count: 1)
                counters.deallocate()
                close(ends.ours)
                close(ends.theirs)
            }
            var port = InjectionPort(
                id: 1, descriptor: ends.ours, rate: 16_000, layout: SampleLayout(.s16, channels: 1), isStream: false,
                bus: 16_000, counters: counters)
            let tiny: [Int16] = [1_000]
            let count = 3 * InjectionPort.mostForgotten + 5
            for _ in 0..<count { #expect(send(ends.theirs, tiny, 2, Int32(MSG_DONTWAIT)) == 2) }
            port.forget()
            var isForgetting = port.isForgetting
            #expect(isForgetting && btcall_waiting_bytes(ends.ours) == 2 * (count - InjectionPort.mostForgotten))
            // Data written from now on is for the next call.
            let block = [Int16](repeating: 2_000, count: 160)
            #expect(send(ends.theirs, block, 320, Int32(MSG_DONTWAIT)) == 320)
            var output = [Int16](repeating: 0, count: 160)
            var isThere = port.takeBlock(&output, 160)
            #expect(!isThere)
            var turns = 1
            while port.isForgetting && turns < 100 {
                port.goOnForgetting()
                turns += 1
            }
            isForgetting = port.isForgetting
            #expect(!isForgetting && turns == 4 && btcall_waiting_bytes(ends.ours) == 320)
            isThere = port.takeBlock(&output, 160)
            #expect(isThere && output[159] > 1_500)
        }
    }
}
