package import AudioDSP
package import AudioEngine
import BluetoothTypes
import Glibc

/// A few seconds of the real audio thread with every stage at work: an mSBC and a CVSD headset and a sound card of 48 kHz,
/// two calls of different rates, losses, changes of route in mid-sentence, mute and volume, a ringer and announcements; a
/// program that renders the audio when no device does, and two that record, one of which does not read; two that play on the
/// ALSA PCM, and one that records from it; a headset over A2DP that plays the calls, and a program that plays to it in
/// stereo.
package struct EngineCourse {
    /// One packet socket pair: the engine has one end, this thread acts as the device or application at the other.
    private struct Device {
        let descriptor: Int32
        let periodNanoseconds: Int
        let bytes: Int
        var due: Int
        var position = 0
    }

    private let seconds: Int
    private let voice: VoiceProcessingKind?
    private let engine: AudioEngine
    private var devices: [Device] = []
    private var calls: [(descriptor: Int32, bytes: Int)] = []
    private var handed: [Int32] = []
    /// Sockets of a program that replaces the devices, and of recorders.
    private var renderer: (uplink: Int32, downlink: Int32) = (-1, -1)
    private var recorder: Int32 = -1
    /// Receives the audio sent to a headset over A2DP.
    private var listener: Int32 = -1
    /// Sends a program's audio for the person.
    private var announcement: Int32 = -1
    private let buffer: UnsafeMutablePointer<UInt8>
    /// 32 codec frames of mSBC, repeated; other devices use the same bytes as 16-bit samples.
    private let stream: UnsafeMutablePointer<UInt8>
    private static let streamBytes = 60 * 32

    /// - Parameter voice: the voice processing, which the course also switches on and off.
    package init(seconds: Int, voice: VoiceProcessingKind? = nil) throws(AudioEngineError) {
        self.seconds = seconds
        self.voice = voice
        var configuration = AudioEngineConfiguration()
        configuration.locksMemory = false
        engine = try AudioEngine(configuration)
        if let voice { try engine.setVoiceProcessing(voice) }
        buffer = .allocate(capacity: 4_096)
        buffer.initialize(repeating: 0, count: 4_096)
        stream = .allocate(capacity: Self.streamBytes)
        stream.initialize(repeating: 0, count: Self.streamBytes)
        var transmitter = LinkTransmitter(.mSBC)
        var samples = [Int16](repeating: 0, count: 120)
        for frame in 0..<32 {
            for index in samples.indices { samples[index] = Int16(8_000 * sin(Double(frame * 120 + index) * 0.3)) }
            _ = transmitter.makePacket(stream + frame * 60, 60, from: samples, 120)
        }
        let start = Self.now()
        try add(1, .mSBC, bytes: 60, bytesPerSecond: 8_000, at: start)
        try add(2, .cvsd, bytes: 48, bytesPerSecond: 16_000, at: start)
        try add(3, .pcm(rate: 48_000), bytes: 960, bytesPerSecond: 96_000, at: start)
        for (id, rate) in [(UInt32(1), 16_000), (2, 48_000)] {
            guard let (ours, theirs) = PacketSocketPair.open() else { throw .failed(call: "socketpair", code: errno) }
            calls.append((theirs, rate / 50))
            try engine.attachCall(id, descriptor: ours, rate: rate, active: true)
        }
        try addPlaybacks(at: start)
        try addPCM()
        try addStream()
        try addApplications()
    }

    private mutating func addApplications() throws(AudioEngineError) {
        var pairs: [(ours: Int32, theirs: Int32)] = []
        for _ in 1...4 {
            guard let pair = PacketSocketPair.open() else { throw .failed(call: "socketpair", code: errno) }
            pairs.append(pair)
        }
        renderer = (pairs[0].theirs, pairs[1].theirs)
        try engine.attachManual(
            1, uplink: pairs[0].ours, downlink: pairs[1].ours, rate: 16_000, layout: SampleLayout(), isStream: false)
        recorder = pairs[2].theirs
        try engine.attachTap(
            1, ofCall: 1, .stereo, descriptor: pairs[2].ours, rate: 48_000, layout: SampleLayout(.f32, channels: 2),
            isStream: false)
        handed.append(pairs[3].theirs)
        try engine.attachTap(
            2, ofCall: 2, .both, descriptor: pairs[3].ours, rate: 16_000, layout: SampleLayout(), isStream: false)
    }

    private mutating func addStream() throws(AudioEngineError) {
        guard let (ours, theirs) = PacketSocketPair.open() else { throw .failed(call: "socketpair", code: errno) }
        listener = theirs
        handed.append(ours)
        let rate = 44_100
        // Four capability bytes of a headset that supports everything at that rate.
        guard let configuration = try? SBCCapabilities([0x2F, 0xFF, 2, 53]).select() else { return }
        try engine.addTerminal(
            5, .stream(MediaStream(descriptor: ours, configuration: configuration, bitpool: 53, writeMTU: 672)),
            isAlone: true)
        engine.setListening(5, true)
        let memory = try PCMMemory(
            rate: rate, layout: SampleLayout(.s16, channels: 2), bufferFrames: rate / 10, isCapture: false)
        try engine.addPlayback(5, .stream(memory), PlaybackManner(), at: .terminal(5))
    }

    private func addPCM() throws(AudioEngineError) {
        for (id, rate, layout) in [
            (UInt32(1), 48_000, SampleLayout(.f32, channels: 2)), (2, 44_100, SampleLayout()),
            (3, 16_000, SampleLayout()),
        ] {
            let memory = try PCMMemory(rate: rate, layout: layout, bufferFrames: rate / 10, isCapture: id == 3)
            try engine.addPCM(id, memory)
        }
        engine.setPCMCall(3)
    }

    /// A ringer on its own card; in the calls a tone, a file, and an announcement that lowers the far end.
    private mutating func addPlaybacks(at start: Int) throws(AudioEngineError) {
        try add(4, .pcm(rate: 48_000), bytes: 960, bytesPerSecond: 96_000, at: start, isAlone: true)
        let manner = PlaybackManner()
        try engine.addPlayback(
            1, .tone(ToneSpecification([880, 1_109], cadence: [400, 200], peak: 0.5)), manner, at: .terminal(4))
        try engine.addPlayback(2, .tone(ToneSpecification([425], cadence: [200, 300])), manner, at: .routed)
        try engine.addPlayback(
            3, .samples((0..<8_000).map { Int16($0 % 500) }, loops: true), manner, at: .routed)
        guard let (ours, theirs) = PacketSocketPair.open() else { throw .failed(call: "socketpair", code: errno) }
        announcement = theirs
        var loud = manner
        loud.priority = 6
        loud.duckGain = 0.25
        try engine.addPlayback(
            4, .application(descriptor: ours, rate: 48_000, layout: SampleLayout(), isStream: false), loud, at: .routed)
    }

    private mutating func add(
        _ id: UInt32, _ codec: LinkCodec, bytes: Int, bytesPerSecond: Int, at start: Int, isAlone: Bool = false
    ) throws(AudioEngineError) {
        guard let (ours, theirs) = PacketSocketPair.open() else { throw .failed(call: "socketpair", code: errno) }
        handed.append(ours)
        devices.append(
            Device(
                descriptor: theirs, periodNanoseconds: bytes * 1_000_000_000 / bytesPerSecond, bytes: bytes, due: start)
        )
        try engine.addTerminal(id, .link(descriptor: ours, codec: codec, packetBytesHint: bytes), isAlone: isAlone)
    }

    /// Runs the course in real time and returns the audio thread's cost for 10 ms, including system calls.
    package mutating func run() -> StageCost {
        AllocationCounter.excludeThisThread()
        let start = Self.now()
        play(until: start + 1_000_000_000, from: start)
        // All one-time allocations have been made by now.
        let before = (engine.counters(), AllocationCounter.count)
        play(until: start + (seconds + 1) * 1_000_000_000, from: start)
        let after = (engine.counters(), AllocationCounter.count)
        let ticks = max(after.0.ticks - before.0.ticks, 1)
        let busy = Double(after.0.busyNanoseconds - before.0.busyNanoseconds)
        let allocations = before.1.flatMap { before in after.1.map { $0 - before } }
        let name = voice == nil ? "everything, with system calls" : "everything, with voice processing"
        return StageCost(
            name: name, microseconds: busy / 1000 / Double(ticks), allocations: allocations)
    }

    package func end() {
        engine.stop()
        for device in devices { close(device.descriptor) }
        for descriptor in handed { close(descriptor) }
        for call in calls { close(call.descriptor) }
        for descriptor in [renderer.uplink, renderer.downlink, recorder, listener] { close(descriptor) }
        close(announcement)
        buffer.deallocate()
        stream.deallocate()
    }

    private mutating func play(until end: Int, from start: Int) {
        var step = 0
        while Self.now() < end {
            let now = Self.now()
            // Like a program that reads the levels all the time.
            _ = engine.levels()
            for index in devices.indices { serve(&devices[index], now) }
            for call in calls { answer(call.descriptor, bytes: call.bytes) }
            while recv(recorder, buffer, 4_096, Int32(MSG_DONTWAIT)) > 0 {}
            while recv(listener, buffer, 4_096, Int32(MSG_DONTWAIT)) > 0 {}
            while recv(renderer.downlink, buffer, 4_096, Int32(MSG_DONTWAIT)) > 0 {
                _ = send(renderer.uplink, stream, 320, Int32(MSG_DONTWAIT) | Int32(MSG_NOSIGNAL))
            }
            // Another action every 100 ms.
            let wanted = (now - start) / 100_000_000
            if wanted > step {
                step = wanted
                change(step)
            }
            usleep(500)
        }
    }

    private func change(_ step: Int) {
        if step % 5 == 0 { engine.route(to: step / 5 % 4 == 3 ? nil : UInt32(step / 5 % 4 + 1)) }
        if step % 7 == 0 { engine.setMuting(step / 7 % 2 == 0 ? .everything : .off) }
        engine.setSpeakerGain(UInt32(step % 3 + 1), Float(step % 4 + 1) / 4)
        engine.setMicrophoneGain(UInt32(step % 3 + 1), Float(step % 4 + 1) / 4)
        if let voice { change(voice, step) }
        // Half a second with an announcement, half a second without.
        if step % 10 < 5 {
            for _ in 0..<10 {
                _ = send(announcement, stream, 960, Int32(MSG_DONTWAIT) | Int32(MSG_NOSIGNAL))
            }
        }
        if step % 6 == 0 { engine.movePlayback(3, to: step / 6 % 2 == 0 ? .routed : .terminal(4)) }
        // The PCM's call comes and goes, and so do its programs.
        if step % 4 == 0 { engine.setPCMCall(step % 8 == 0 ? 3 : nil) }
        if step % 9 == 4 { engine.removePCM(2) }
        if step % 6 == 3 { engine.setListening(5, step % 12 == 3) }
        if step % 9 == 8 {
            // Without memory for it, the course has one program fewer.
            let memory = try? PCMMemory(rate: 44_100, layout: SampleLayout(), bufferFrames: 4_410, isCapture: false)
            if let memory { try? engine.addPCM(2, memory) }
        }
        _ = engine.takeEvents()
    }

    private func change(_ voice: VoiceProcessingKind, _ step: Int) {
        engine.setVoiceBypassed(step % 6 == 3)
        engine.setVoiceStages(step % 8 == 4 ? [.highPass, .noiseSuppression] : .all)
        engine.setOwnVoiceProcessing(1, step % 16 == 8)
        // Failure for lack of memory leaves the present processor.
        if step % 10 == 9 { try? engine.setVoiceProcessing(step % 20 == 9 ? .speex : voice) }
    }

    /// Receives the device's audio and sends what is due; every twentieth packet is all zeros, which counts as a loss.
    private func serve(_ device: inout Device, _ now: Int) {
        while recv(device.descriptor, buffer, 4_096, Int32(MSG_DONTWAIT)) > 0 {}
        while device.due <= now {
            device.due += device.periodNanoseconds
            let isLost = device.position % 20 == 19
            let place = device.position * device.bytes % Self.streamBytes
            device.position += 1
            for index in 0..<device.bytes { buffer[index] = isLost ? 0 : stream[(place + index) % Self.streamBytes] }
            _ = send(device.descriptor, buffer, device.bytes, Int32(MSG_DONTWAIT) | Int32(MSG_NOSIGNAL))
        }
    }

    private func answer(_ descriptor: Int32, bytes: Int) {
        while recv(descriptor, buffer, 4_096, Int32(MSG_DONTWAIT)) > 0 {
            _ = send(descriptor, stream, bytes, Int32(MSG_DONTWAIT) | Int32(MSG_NOSIGNAL))
        }
    }

    private static func now() -> Int {
        var time = timespec()
        clock_gettime(CLOCK_MONOTONIC, &time)
        return time.tv_sec * 1_000_000_000 + time.tv_nsec
    }
}
