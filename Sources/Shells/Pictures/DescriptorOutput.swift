import ControlLoop
import VideoPlan

/// A view in a descriptor of a client: one stream in one size, over all calls.
@ControlPlane
final class DescriptorOutput {
    private let descriptor: Int32
    private var format: PictureFormat?
    private var flow: PictureFlow?
    private var writer: DescriptorWriter?
    /// The hub from which the writer gets pictures as they are.
    private var hub: FrameHub?
    /// Turns or scales them, where needed.
    private var output: PictureOutput?
    private var ending: [PictureOutput] = []
    private(set) var problem: String?
    private(set) var isOver = false
    var onChange: (@ControlPlane () -> Void)?

    /// - Parameter descriptor: stays open until ``close()``.
    init(_ descriptor: Int32) {
        self.descriptor = descriptor
    }

    var isRunning: Bool { writer != nil && (hub != nil || output?.isRunning == true) }

    /// - Parameter flow: nil: no picture now.
    func want(_ flow: PictureFlow?) {
        guard flow != self.flow else { return }
        detach()
        self.flow = flow
        guard let flow, !isOver, let writer = begin(flow.view) else { return }
        let size = format ?? flow.view.format
        if flow.view.settings.rotation == 0, flow.view.format.hasSize(of: size) {
            hub = flow.hub
            flow.hub.add(writer)
            return
        }
        let output = PictureOutput { picture in writer.take(picture) }
        output.onChange = { [weak self] in self?.onChange?() }
        self.output = output
        output.want(.stream(flow.view, to: size), [flow])
    }

    /// The stream has the size of its first picture.
    private func begin(_ view: PlannedView) -> DescriptorWriter? {
        if let writer { return writer }
        let isUpright = view.settings.rotation % 180 == 0
        let size = isUpright ? view.format : view.format.turned
        do throws(SystemError) {
            let made = try DescriptorWriter.start(descriptor, size) { [weak self] end in self?.ended(end) }
            (writer, format) = (made, size)
            return made
        } catch {
            (isOver, problem) = (true, "the descriptor is not accepted: \(error)")
            onChange?()
            return nil
        }
    }

    private func ended(_ end: DescriptorWriter.End) {
        isOver = true
        switch end {
        case .asked: break
        case .closed: problem = "its reader has closed the descriptor"
        case .failed(let error): problem = "the descriptor fails: \(error)"
        }
        detach()
        writer = nil
        onChange?()
    }

    private func detach() {
        flow = nil
        if let writer { hub?.remove(writer) }
        hub = nil
        guard let ended = output else { return }
        output = nil
        ended.onChange = nil
        ended.want(nil, [])
        ending.append(ended)
        Task { @ControlPlane [self] in
            await ended.idle()
            ending.removeAll { $0 === ended }
        }
    }

    func close() {
        onChange = nil
        detach()
        writer?.end()
    }

    func idle() async {
        for output in ending { await output.idle() }
    }
}
