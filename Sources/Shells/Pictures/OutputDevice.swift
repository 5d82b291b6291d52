import BoardInput
import CPictures
package import ControlLoop
import Glibc
package import VideoPlan

/// A V4L2 output node to which a picture is written: an unmodified softphone reads v4l2loopback as its camera.
///
/// A node with write() is opened at once and stays open, in one size: v4l2loopback forgets its format when nobody has it open,
/// and a softphone that opens it without a format has no camera for its call. Other pictures are scaled. After a picture's end a
/// grey one is written, so that the next reader sees no old one. Nothing is written while no picture is wanted.
@ControlPlane
package final class OutputDevice {
    /// A node that is open.
    package struct Node: Sendable {
        /// Taken over by who gets it.
        package let descriptor: Int32
        package let width: Int
        package let height: Int

        package init(descriptor: Int32, width: Int, height: Int) {
            self.descriptor = descriptor
            self.width = width
            self.height = height
        }
    }

    /// Opens a node for pictures of a size, or of another one that it has.
    package typealias Opener = @ControlPlane (String, PictureFormat) throws(SystemError) -> Node

    private static let settling = Duration.milliseconds(300)
    /// A reader that comes later gets the newest two buffers of v4l2loopback.
    private static let greys = 2
    private static let greyPause = Duration.milliseconds(100)

    package let path: String
    /// Its state has changed.
    package let changes = Signal<Void>()
    private let opener: Opener
    /// The size that is asked for.
    private var asked: PictureFormat?
    private var format: PictureFormat?
    private var writer: DescriptorWriter?
    private var flow: PictureFlow?
    /// The hub from which the writer gets pictures as they are.
    private var hub: FrameHub?
    /// Scales or turns pictures, or writes to a node without write().
    private var output: PictureOutput?
    private var ending: [PictureOutput] = []
    private var watch: DirectoryWatch?
    private var grey: Timer?
    /// Whether the node has buffers of its own only.
    private var isStreaming = false
    private var failure: PictureError?

    package init(_ path: String, opener: @escaping Opener = OutputDevice.open) {
        self.path = path
        self.opener = opener
    }

    /// Whether pictures are written.
    package var isRunning: Bool { hub != nil || output?.isRunning == true }
    package var problem: PictureError? { failure ?? output?.problem }

    // MARK: The node

    /// Opens the node as soon as it is present.
    ///
    /// - Parameter format: of the pictures that are expected.
    package func open(_ format: PictureFormat) {
        guard asked == nil else { return }
        asked = format
        let name = path.split(separator: "/").last.map(String.init) ?? path
        // Nodes come with the module, and get their permissions later. Without the watch it is tried with each picture.
        watch = try? DirectoryWatch(
            ForeignFile.directory(of: path), settling: Self.settling, isWanted: { $0 == name },
            onChange: { [weak self] in self?.tryToOpen() })
        tryToOpen()
    }

    /// Closes it, once and for all.
    package func close() {
        watch?.cancel()
        grey?.cancel()
        (watch, grey, asked) = (nil, nil, nil)
        detach()
        writer?.end()
        writer = nil
    }

    private func tryToOpen() {
        guard let asked, writer == nil, !isStreaming else { return }
        do throws(SystemError) {
            let node = try opener(path, asked)
            let format = PictureFormat(
                exactWidth: node.width, height: node.height, rateThousandths: asked.rateThousandths)
            writer = try DescriptorWriter.start(node: node.descriptor, format) { [weak self] in self?.ended($0) }
            self.format = format
            failure = nil
            writeGrey(Self.greys)
        } catch {
            isStreaming = error.code == ENOTSUP
            failure = isStreaming ? nil : .system(error, path: path)
        }
        attach()
        changes.send()
    }

    package static func open(_ path: String, _ format: PictureFormat) throws(SystemError) -> Node {
        var (width, height) = (UInt32(clamping: format.width), UInt32(clamping: format.height))
        let descriptor = btcall_output_open(path, &width, &height, UInt32(clamping: format.rateThousandths))
        guard descriptor >= 0 else { throw SystemError("VIDIOC_S_FMT") }
        return Node(descriptor: descriptor, width: Int(width), height: Int(height))
    }

    private func ended(_ end: DescriptorWriter.End) {
        guard case .failed(let error) = end else { return }
        detach()
        writer = nil
        failure = .system(error, path: path)
        changes.send()
    }

    // MARK: Pictures

    /// - Parameter new: nil: nothing is written.
    package func write(_ new: PictureFlow?) {
        guard new != flow else { return }
        flow = new
        if new != nil, writer == nil { tryToOpen() } else { attach() }
    }

    private func attach() {
        let hadPicture = isRunning || output != nil
        detach()
        guard let flow else {
            if hadPicture { writeGrey(Self.greys) }
            return
        }
        grey?.cancel()
        if isStreaming { return use(.outputDevice(path, flow.view), flow, nil) }
        guard let writer, let format else { return }
        if flow.view.settings.rotation == 0, flow.view.format.hasSize(of: format) {
            hub = flow.hub
            flow.hub.add(writer)
            changes.send()
        } else {
            use(.stream(flow.view, to: format), flow) { writer.take($0) }
        }
    }

    private func use(_ plan: PipelinePlan, _ flow: PictureFlow, _ handler: Pipeline.Handler?) {
        let output = PictureOutput(picture: handler)
        output.onChange = { [weak self] in self?.changes.send() }
        self.output = output
        output.want(plan, [flow])
    }

    private func detach() {
        if let hub, let writer { hub.remove(writer) }
        let wasRunning = isRunning
        hub = nil
        if let ended = output {
            output = nil
            ended.onChange = nil
            ended.want(nil, [])
            ending.append(ended)
            Task { @ControlPlane [self] in
                await ended.idle()
                ending.removeAll { $0 === ended }
            }
        }
        if wasRunning { changes.send() }
    }

    private func writeGrey(_ count: Int) {
        guard count > 0, flow == nil, let writer, let format else { return }
        // The colour of the card.
        if let picture = Picture(luma: 48, blue: 130, red: 125, width: format.width, height: format.height) {
            writer.take(picture)
        }
        grey = ControlLoop.shared.schedule(after: Self.greyPause) { [weak self] in self?.writeGrey(count - 1) }
    }

    /// Returns once no pipeline of it runs. Nothing may be written.
    package func idle() async {
        for output in ending { await output.idle() }
    }
}

extension PictureFormat {
    /// Whether the pictures have the same size, at any rate.
    func hasSize(of other: PictureFormat) -> Bool { width == other.width && height == other.height }
}
