package import CBTCall
import Glibc
import Synchronization

/// The client's side of a ring of the ALSA PCM: one channel of 16 bit. A thread of its own plays, or records, at the ring's
/// speed.
package final class PCMRing: @unchecked Sendable {
    private struct State {
        var isStopped = false
        var recorded: [Int16] = []
    }

    package let header: UnsafeMutablePointer<btcall_pcm_ring>
    private let start: UnsafeMutableRawPointer
    private let bytes: Int
    private let samples: UnsafeMutablePointer<Int16>
    private let bufferFrames: Int
    private let state = Mutex(State())

    /// - Parameter descriptor: the memory; it stays the caller's.
    package init?(_ descriptor: Int32, bytes: Int, samplesOffset: Int, bufferFrames: Int) {
        let mapped = mmap(nil, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, descriptor, 0)
        guard let mapped, mapped != MAP_FAILED, bytes >= samplesOffset + bufferFrames * 2 else { return nil }
        start = mapped
        self.bytes = bytes
        self.bufferFrames = bufferFrames
        header = mapped.assumingMemoryBound(to: btcall_pcm_ring.self)
        samples = (mapped + samplesOffset).assumingMemoryBound(to: Int16.self)
    }

    deinit { munmap(start, bytes) }

    private func word(_ offset: Int) -> UnsafeMutablePointer<Atomic<UInt64>> {
        (start + offset).assumingMemoryBound(to: Atomic<UInt64>.self)
    }

    package var hardware: UInt64 { btcall_pcm_hardware(header) }
    package var application: UInt64 {
        get { word(8).pointee.load(ordering: .sequentiallyConsistent) }
        set { word(8).pointee.store(newValue, ordering: .sequentiallyConsistent) }
    }
    package var engagement: UInt32 {
        UInt32(truncatingIfNeeded: word(16).pointee.load(ordering: .sequentiallyConsistent))
    }
    package var isEngaged: Bool { engagement % 2 == 1 }
    package var latency: UInt32 {
        UInt32(truncatingIfNeeded: word(16).pointee.load(ordering: .sequentiallyConsistent) >> 32)
    }
    package var missing: UInt64 { word(24).pointee.load(ordering: .sequentiallyConsistent) }

    /// The samples recorded so far.
    package var recorded: [Int16] { state.withLock { $0.recorded } }

    /// Keeps the ring filled with the samples of `source` for each frame, until `stop`.
    package func play(_ source: @escaping @Sendable (Int) -> Int16) {
        run { ring in
            let end = ring.hardware &+ UInt64(ring.bufferFrames)
            var next = max(ring.application, ring.hardware)
            while next < end {
                ring.samples[Int(next % UInt64(ring.bufferFrames))] = source(Int(truncatingIfNeeded: next))
                next += 1
            }
            ring.application = next
        }
    }

    /// Records until `stop`.
    package func record() {
        run { ring in
            let end = ring.hardware
            var next = ring.application
            var block: [Int16] = []
            while next < end {
                block.append(ring.samples[Int(next % UInt64(ring.bufferFrames))])
                next += 1
            }
            ring.application = next
            ring.state.withLock { $0.recorded += block }
        }
    }

    /// Writes random values into the header, again and again, until `stop`.
    package func scribble(seed: UInt64) {
        let generator = Mutex(SeededGenerator(seed: seed))
        run { ring in
            for _ in 0..<1_000 {
                let (offset, value) = generator.withLock { (Int($0.next() % 4) * 8, $0.next()) }
                ring.word(offset).pointee.store(value, ordering: .relaxed)
            }
        }
    }

    package func stop() { state.withLock { $0.isStopped = true } }

    private func run(_ step: @escaping @Sendable (PCMRing) -> Void) {
        let body = Unmanaged.passRetained(
            Body { [self] in
                while !state.withLock({ $0.isStopped }) {
                    step(self)
                    usleep(2_000)
                }
            })
        let code = btcall_start_thread(
            256 * 1024,
            { context in if let context { Unmanaged<Body>.fromOpaque(context).takeRetainedValue().run() } },
            body.toOpaque())
        if code != 0 { body.release() }
    }

    private final class Body {
        let run: () -> Void
        init(_ run: @escaping () -> Void) { self.run = run }
    }
}
