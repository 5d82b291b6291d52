package import ControlLoop
import Glibc
package import VideoPlan

/// The picture behind a person, read from a file.
package enum BackgroundFile {
    /// Reads and checks a file, without decoding it.
    ///
    /// - Throws: what is wrong with it, and what is accepted.
    package static func read(_ path: String) throws(FileRefusal) -> [UInt8] {
        try ForeignFile.read(path, atMost: PictureFile.mostBytes)
    }

    /// Reads and decodes a file. Blocks.
    package static func picture(_ path: String, _ format: PictureFormat) throws(PictureError) -> Picture {
        let bytes: [UInt8]
        do throws(FileRefusal) {
            bytes = try read(path)
        } catch {
            throw .failed("\(error)")
        }
        guard let file = PictureFile(bytes) else {
            throw .failed("\(path) is not accepted; accepted: \(PictureFile.accepted)")
        }
        do throws(PictureError) {
            return try Pipeline.picture(of: .file(file, format), file: bytes)
        } catch {
            guard case .failed(let reason) = error else { throw error }
            throw .failed("\(path): \(reason)")
        }
    }
}

extension BackgroundFile {
    /// Reads and decodes a file, beside the control plane.
    ///
    /// - Throws: what is wrong with it, and what is accepted.
    @ControlPlane
    package static func check(_ path: String) async throws(PictureError) {
        let outcome = await GStreamer.beside { () throws(PictureError) in try picture(path, trial) }
        _ = try outcome.get()
    }

    private static let trial = PictureFormat(exactWidth: 64, height: 48, rateThousandths: 1000)
}

/// The virtual background of the local picture.
@ControlPlane
final class Background {
    /// What is wanted.
    private struct Order: Equatable {
        let choice: BackgroundChoice
        let format: PictureFormat
    }

    private let gate: PictureGate
    private var order: Order?
    private var number = 0
    private var keeper: PipelineKeeper?
    private var ending: [PipelineKeeper] = []
    /// Why it cannot be put behind the person; the camera's picture is not shown then.
    private(set) var problem: PictureError?
    var onChange: (@ControlPlane () -> Void)?

    init(_ gate: PictureGate) {
        self.gate = gate
    }

    var isOn: Bool { order != nil }

    /// - Parameter format: nil while there is no picture.
    func want(_ choice: BackgroundChoice, _ format: PictureFormat?) {
        let new = choice == .off ? nil : format.map { Order(choice: choice, format: $0) }
        guard new != order else { return }
        order = new
        number += 1
        stop()
        set(nil)
        guard let new else { return gate.setBackground(nil) }
        switch new.choice {
        case .off: break
        case .blur: begin(new.format, behind: nil)
        case .picture(let path): load(path, new.format, number)
        }
    }

    private func load(_ path: String, _ format: PictureFormat, _ number: Int) {
        // Nothing of the room is seen until the picture is loaded.
        gate.setBackground(BackgroundStage(behind: nil) { _, _ in })
        Task { @ControlPlane [weak self] in
            let outcome = await GStreamer.beside { () throws(PictureError) in
                try BackgroundFile.picture(path, format)
            }
            guard let self, number == self.number else { return }
            switch outcome {
            case .success(let picture): begin(format, behind: picture)
            case .failure(let error): set(error)
            }
        }
    }

    private func begin(_ format: PictureFormat, behind: Picture?) {
        let gate = gate
        let stage = BackgroundStage(behind: behind) { picture, stage in gate.take(picture, from: stage) }
        let keeper = PipelineKeeper { [weak stage] mask in stage?.take(mask: mask) }
        keeper.onChange = { [weak self] keeper in
            stage.use(keeper.pipeline)
            guard let self, self.keeper === keeper else { return }
            if case .failed(let error) = keeper.state {
                gate.hideRoom()
                set(error)
            } else if keeper.state == .running {
                set(nil)
            }
        }
        self.keeper = keeper
        gate.setBackground(stage)
        keeper.want(.mask(format))
    }

    private func stop() {
        guard let keeper else { return }
        self.keeper = nil
        ending.append(keeper)
        // Its handler lets go of the pipeline.
        keeper.want(nil)
        Task { @ControlPlane [self] in
            await keeper.idle()
            keeper.onChange = nil
            ending.removeAll { $0 === keeper }
        }
    }

    private func set(_ new: PictureError?) {
        guard new != problem else { return }
        problem = new
        onChange?()
    }

    /// Returns once nothing of it runs. It has to be off.
    func idle() async {
        for keeper in ending { await keeper.idle() }
    }
}
