package import ControlLoop
package import VideoCapture
package import VideoPlan

/// The views of both sides: displays, V4L2 output nodes, descriptors of clients.
///
/// Views of the same display are one pipeline, with one picture in the other.
@ControlPlane
package final class ViewOutputs {
    package struct Status: Equatable, Sendable {
        package var isRunning = false
        package var problem: String?

        package init(isRunning: Bool = false, problem: String? = nil) {
            self.isRunning = isRunning
            self.problem = problem
        }
    }

    /// A status has changed.
    package let changes = Signal<Void>()
    private let canvas: @ControlPlane (ViewSettings) -> FrameSize?
    private let end: String?
    private let opener: OutputDevice.Opener
    /// By display or node.
    private var outputs: [String: PictureOutput] = [:]
    /// V4L2 output nodes, by side.
    private var nodes: [PictureSide: OutputDevice] = [:]
    private var endingNodes: [OutputDevice] = []
    private var descriptors: [PictureSide: DescriptorOutput] = [:]
    private var ending: [DescriptorOutput] = []
    /// The output of each side that is shown.
    private var keys: [PictureSide: String] = [:]

    /// - Parameters:
    ///   - canvas: size of a display.
    ///   - end: what shows pictures instead of displays, for tests.
    ///   - opener: opens V4L2 output nodes.
    package init(
        canvas: @escaping @ControlPlane (ViewSettings) -> FrameSize? = { DisplaySize.size(of: $0) },
        end: String? = nil, opener: @escaping OutputDevice.Opener = OutputDevice.open
    ) {
        self.canvas = canvas
        self.end = end
        self.opener = opener
    }

    /// Whether a descriptor can carry a stream.
    ///
    /// - Throws: `EINVAL` for what is no pipe, stream socket or regular file; `EBADF` for one that is not open for writing.
    package static func check(_ descriptor: Int32) throws(SystemError) { try DescriptorWriter.check(descriptor) }

    /// Begins or ends the stream of a side.
    ///
    /// - Parameter descriptor: stays open until another call for this side; nil: none.
    package func setDescriptor(_ descriptor: Int32?, of side: PictureSide) {
        if let old = descriptors.removeValue(forKey: side) {
            old.close()
            ending.append(old)
            Task { @ControlPlane [self] in
                await old.idle()
                ending.removeAll { $0 === old }
            }
        }
        guard let descriptor else { return }
        let output = DescriptorOutput(descriptor)
        output.onChange = { [weak self] in self?.changes.send() }
        descriptors[side] = output
    }

    /// Whether the stream of a side has ended for good.
    package func isOver(_ side: PictureSide) -> Bool { descriptors[side]?.isOver ?? false }

    /// Shows these pictures, and no others.
    package func show(_ flows: [PictureFlow]) {
        for (side, output) in descriptors {
            output.want(flows.first { $0.view.side == side && $0.view.settings.sink == .descriptor })
        }
        for side in PictureSide.allCases {
            show(flows.first { $0.view.side == side && $0.view.settings.sink == .device }, at: side)
        }
        keys = [:]
        let others = flows.filter { $0.view.settings.sink.isDisplay }
        for group in PlannedView.groups(others.map(\.view)) {
            guard let first = group.first else { continue }
            let key = Self.key(first)
            for view in group { keys[view.side] = key }
            output(key).want(plan(group), others.filter { group.contains($0.view) })
        }
        for (key, output) in outputs where !keys.values.contains(key) { retire(output, key) }
    }

    /// Shows a picture at a node, or closes the node.
    private func show(_ flow: PictureFlow?, at side: PictureSide) {
        if let node = nodes[side], node.path != flow?.view.settings.device {
            nodes[side] = nil
            node.write(nil)
            node.close()
            endingNodes.append(node)
            Task { @ControlPlane [self] in
                await node.idle()
                endingNodes.removeAll { $0 === node }
            }
        }
        guard let flow, let path = flow.view.settings.device else { return }
        let node = nodes[side] ?? OutputDevice(path, opener: opener)
        if nodes[side] == nil {
            nodes[side] = node
            node.changes.subscribe(self) { $0.changes.send() }
            node.open(flow.view.format)
        }
        node.write(flow)
    }

    private static func key(_ view: PlannedView) -> String {
        "\(view.settings.sink.rawValue) \(view.settings.device ?? "")"
    }

    private func plan(_ group: [PlannedView]) -> PipelinePlan? {
        guard let first = group.first else { return nil }
        return canvas(first.settings).map { .display(group, on: $0, end: end) }
    }

    private func output(_ key: String) -> PictureOutput {
        if let present = outputs[key] { return present }
        let output = PictureOutput()
        output.onChange = { [weak self] in self?.changes.send() }
        outputs[key] = output
        return output
    }

    /// Keeps it until its device is closed, so that a new view of the same device waits for that.
    private func retire(_ output: PictureOutput, _ key: String) {
        output.want(nil, [])
        Task { @ControlPlane [self] in
            await output.idle()
            if outputs[key] === output, !keys.values.contains(key) { outputs[key] = nil }
        }
    }

    package func status(of side: PictureSide) -> Status {
        if let descriptor = descriptors[side] {
            return Status(isRunning: descriptor.isRunning, problem: descriptor.problem)
        }
        if let node = nodes[side] {
            return Status(isRunning: node.isRunning, problem: node.problem.map { "\($0)" })
        }
        guard let output = keys[side].flatMap({ outputs[$0] }) else { return Status() }
        return Status(isRunning: output.isRunning, problem: output.problem.map { "\($0)" })
    }

    /// Returns once no pipeline runs. Nothing may be shown.
    package func idle() async {
        for output in outputs.values { await output.idle() }
        for node in endingNodes { await node.idle() }
        for output in ending { await output.idle() }
        for output in descriptors.values { await output.idle() }
    }
}
