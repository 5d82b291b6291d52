import ControlLoop
import VideoPlan

/// The camera's pipeline, and its replacement while another camera is chosen.
///
/// The new camera is opened while the old one still gives pictures, and replaces it with its first picture. Where both cannot be
/// open, the old one is closed first.
@ControlPlane
final class CameraPipeline {
    private struct Source {
        /// Of the gate.
        let number: Int
        let keeper: PipelineKeeper
        /// Which camera it is.
        let device: String
    }

    /// A source that is being closed.
    private struct Ending {
        let source: Source
        /// Whether it may be opened again: nobody waits for its end.
        let mayReturn: Bool
    }

    private let gate: PictureGate
    private var lastNumber = 0
    private var current: Source?
    private var next: Source?
    private var ending: [Ending] = []
    var onChange: (@ControlPlane () -> Void)?

    init(_ gate: PictureGate) {
        self.gate = gate
    }

    /// Why the wanted camera gives no pictures; nil: nothing is known against it.
    var problem: PictureError? {
        guard let keeper = (next ?? current)?.keeper, case .failed(let error) = keeper.state else { return nil }
        return error
    }

    /// Cameras that are open, or about to be.
    var devices: [String] {
        [current, next].compactMap { $0?.device }
    }

    /// - Parameters:
    ///   - plan: nil: the camera is closed.
    ///   - device: tells cameras apart.
    func want(_ plan: PipelinePlan?, of device: String) {
        guard let plan else { return close() }
        guard let present = current else {
            let source = source(device)
            current = source
            gate.setSource(source.number)
            gate.sourceStarts()
            return source.keeper.want(plan)
        }
        if present.device == device {
            dropNext()
            if present.keeper.plan != plan { gate.sourceStarts() }
            return present.keeper.want(plan)
        }
        if next?.device != device {
            dropNext()
            let source = source(device)
            next = source
            gate.setNext(source.number)
        }
        next?.keeper.want(plan)
    }

    /// Starts it again: it gives no pictures.
    func restart() {
        gate.sourceStarts()
        (next ?? current)?.keeper.restart()
    }

    private func close() {
        dropNext()
        guard let closed = current else { return }
        current = nil
        gate.setSource(0)
        end(closed)
    }

    /// Returns once no camera is open. None may be wanted.
    func idle() async {
        for ended in ending { await ended.source.keeper.idle() }
    }

    /// The next source has a picture.
    func replaced(by number: Int) {
        guard let new = next, new.number == number else { return }
        let old = current
        (current, next) = (new, nil)
        if let old { end(old) }
        onChange?()
    }

    /// The source of a camera. One that is being closed is opened again after that: a camera cannot be open twice.
    private func source(_ device: String) -> Source {
        let index = ending.firstIndex { $0.source.device == device && $0.mayReturn }
        let source = index.map { ending.remove(at: $0).source } ?? make(device)
        source.keeper.onChange = { [weak self] keeper in self?.changed(keeper) }
        return source
    }

    private func make(_ device: String) -> Source {
        lastNumber += 1
        let (number, gate) = (lastNumber, gate)
        return Source(
            number: number, keeper: PipelineKeeper { picture in gate.take(picture, of: number) }, device: device)
    }

    private func changed(_ keeper: PipelineKeeper) {
        if case .failed = keeper.state, let new = next, new.keeper === keeper, let old = current {
            // Perhaps both cannot be open: the old one is closed, then the new one is tried again.
            (current, next) = (new, nil)
            gate.setSource(new.number)
            gate.sourceStarts()
            end(old) { new.keeper.restart() }
        }
        onChange?()
    }

    private func dropNext() {
        guard let dropped = next else { return }
        next = nil
        gate.setNext(0)
        end(dropped)
    }

    private func end(_ source: Source, then: (@ControlPlane () -> Void)? = nil) {
        let keeper = source.keeper
        keeper.onChange = nil
        ending.append(Ending(source: source, mayReturn: then == nil))
        keeper.want(nil)
        Task { @ControlPlane [self] in
            await keeper.idle()
            ending.removeAll { $0.source.keeper === keeper }
            then?()
        }
    }
}
