import BTCall
import BTCallAPI
import ControlLoop
import DBus
import Foundation

/// Audio of one call.
extension FakeDaemon {
    func beginAudio(_ call: String) async {
        guard audio == nil, let provider else { return }
        var ends: [Int32] = [-1, -1]
        let type = Int32(SOCK_SEQPACKET.rawValue | SOCK_NONBLOCK.rawValue | SOCK_CLOEXEC.rawValue)
        guard socketpair(AF_UNIX, type, 0, &ends) == 0 else { return }
        // Only our end must not block.
        _ = fcntl(ends[1], F_SETFL, 0)
        let descriptor = ends[0]
        do {
            let source = try ControlLoop.shared.add(descriptor, .readable) { [weak self] _ in self?.exchange() }
            audio = (descriptor, source, call)
        } catch {
            return
        }
        let format = provider.options.format
        let theirs = PassedDescriptor(taking: ends[1])
        _ = await ask(
            BTCallName.CallProvider.audioReady,
            [.objectPath(call), .unixDescriptor(theirs), .vardict(format.fields)])
        // Keeps five blocks in flight.
        for _ in 0..<5 { sendBlock() }
    }

    /// Receives a block, and sends one. One in a turn of the loop: an application that answers at once must not keep the
    /// call's events waiting.
    private func exchange() {
        guard let audio else { return }
        var block = [Int16](repeating: 0, count: 960)
        let bytes = recv(audio.descriptor, &block, 2 * block.count, 0)
        guard bytes > 0 else { return }
        heard += block[..<(bytes / 2)]
        if loopFrames > 0 {
            // Five blocks at a time: such a call lasts until it is ended.
            Task { @ControlPlane in
                await ControlLoop.shared.sleep(for: .milliseconds(10))
                sendBlock()
            }
            return
        }
        sendBlock()
        guard heard.count >= microphone.count, course == .headsetAnswersAndEnds else { return }
        course = .rings
        Task { @ControlPlane in
            if await ask(BTCallName.CallProvider.performEnd, [.objectPath(audio.call), "local"]) {
                end(audio.call, reason: "local")
            }
        }
    }

    func sendBlock() {
        guard let audio, let provider else { return }
        let frames = provider.options.format.rate / 100
        if loopFrames > 0 {
            microphone += (0..<frames).map {
                let place = sentFrames + $0 - loopFrames
                return heard.indices.contains(place) ? heard[place] / 2 : 0
            }
        }
        guard sentFrames < microphone.count else { return }
        var block = Array(microphone[sentFrames..<min(microphone.count, sentFrames + frames)])
        sentFrames += block.count
        _ = send(audio.descriptor, &block, 2 * block.count, Int32(MSG_NOSIGNAL))
    }

    func endAudio() {
        guard let audio else { return }
        self.audio = nil
        audio.source.cancel()
        Glibc.close(audio.descriptor)
    }
}
