import ControlLoop
package import VideoPlan

/// A picture that goes to somebody: its side, its size and where it comes from.
package struct PictureFlow: Equatable, Sendable {
    package let view: PlannedView
    package let hub: FrameHub

    package init(_ view: PlannedView, _ hub: FrameHub) {
        self.view = view
        self.hub = hub
    }

    package static func == (left: PictureFlow, right: PictureFlow) -> Bool {
        left.view == right.view && left.hub === right.hub
    }
}

/// A pipeline that pictures go to.
@ControlPlane
final class PictureOutput {
    private let keeper: PipelineKeeper
    private var flows: [PictureFlow] = []
    private var attached: [(input: PipelineInput, hub: FrameHub)] = []
    var onChange: (@ControlPlane () -> Void)?

    /// - Parameter picture: gets the pictures that leave the pipeline.
    init(picture: Pipeline.Handler? = nil) {
        keeper = PipelineKeeper(picture: picture)
        keeper.onChange = { [weak self] _ in self?.changed() }
    }

    var isRunning: Bool { keeper.state == .running }
    var problem: PictureError? {
        if case .failed(let error) = keeper.state { error } else { nil }
    }

    /// - Parameter plan: nil: none.
    func want(_ plan: PipelinePlan?, _ flows: [PictureFlow]) {
        let wanted = plan == nil ? [] : flows
        guard plan != keeper.plan || wanted != self.flows else { return }
        let isSame = plan == keeper.plan
        self.flows = wanted
        keeper.want(plan)
        // The same pipeline may get its pictures from somebody else.
        if isSame { attach() }
    }

    func idle() async { await keeper.idle() }

    private func changed() {
        attach()
        onChange?()
    }

    private func attach() {
        for (input, hub) in attached { hub.remove(input) }
        attached = []
        guard let pipeline = keeper.pipeline else { return }
        for flow in flows {
            let input = PipelineInput(pipeline, flow.view)
            attached.append((input, flow.hub))
            flow.hub.add(input)
        }
    }
}
