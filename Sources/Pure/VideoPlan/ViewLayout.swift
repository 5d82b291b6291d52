package import VideoCapture

/// A view of one side, whose picture exists.
package struct PlannedView: Hashable, Sendable {
    package let side: PictureSide
    package let settings: ViewSettings
    package let format: PictureFormat

    package init(_ side: PictureSide, _ settings: ViewSettings, _ format: PictureFormat) {
        self.side = side
        self.settings = settings
        self.format = format
    }

    /// Name of its input.
    package var input: String { side.rawValue }

    /// Whether two sides share a display: one picture is then in the other.
    package func sharesDisplay(with other: PlannedView) -> Bool {
        settings.sink.isDisplay && settings.sink == other.settings.sink && settings.device == other.settings.device
    }

    /// The views of each pipeline, in the order of `PictureSide`.
    package static func groups(_ views: [PlannedView]) -> [[PlannedView]] {
        let sorted = views.sorted { left, _ in left.side == .local }
        guard sorted.count == 2, sorted[0].sharesDisplay(with: sorted[1]) else { return sorted.map { [$0] } }
        return [sorted]
    }
}

extension PipelinePlan {
    /// A node to which a picture is written.
    package static func outputDevice(_ path: String, _ view: PlannedView) -> PipelinePlan {
        // Its buffers are the driver's own business: v4l2loopback has too few of them to give any away.
        PipelinePlan(
            input(view.input, view.format) + flip(view) + " ! videoconvert ! identity drop-allocation=true ! "
                + "v4l2sink name=sink sync=false", [Property("sink", "device", path)],
            needs: usual + [Element("v4l2sink", in: good)])
    }

    /// A picture that is turned, or has another size than at the beginning of its stream.
    ///
    /// - Parameter size: that of the stream.
    package static func stream(_ view: PlannedView, to size: PictureFormat) -> PipelinePlan {
        PipelinePlan(
            input(view.input, view.format) + flip(view)
                + " ! videoscale add-borders=true ! \(size.rawCaps) ! \(output)",
            needs: usual + [Element("videoflip", in: good)])
    }

    /// The views of one display, one in the other if there are two.
    ///
    /// - Parameters:
    ///   - canvas: size of the display.
    ///   - end: what shows the pictures; nil: the sink of the settings.
    package static func display(_ views: [PlannedView], on canvas: FrameSize, end: String? = nil) -> PipelinePlan {
        let whole = "video/x-raw,width=\(canvas.width),height=\(canvas.height),pixel-aspect-ratio=1/1"
        let sink = views.first.map { self.sink($0.settings) } ?? PipelinePlan("fakesink")
        let last = end ?? sink.description
        guard let first = views.first, views.count > 1 || first.settings.rectangle != nil else {
            let inputs = views.map { input($0.input, $0.format) + flip($0) }.joined()
            return PipelinePlan(
                "\(inputs) ! videoscale add-borders=true ! \(whole) ! videoconvert ! \(last)", sink.properties,
                displayCard: sink.displayCard, needs: usual + sink.needs)
        }
        // Of two rates the higher one. A picture that is late is shown with the next one.
        let rate = views.map(\.format.rateThousandths).max() ?? 30_000
        var pads = ""
        var branches = ""
        for (index, view) in views.enumerated() {
            let place = place(of: view, among: views, on: canvas)
            // The local picture is above the remote one.
            let order = view.side == .local ? 2 : 1
            let pad = "sink_\(index)"
            pads += " \(pad)::xpos=\(place.x) \(pad)::ypos=\(place.y) \(pad)::width=\(place.size.width)"
            pads += " \(pad)::height=\(place.size.height) \(pad)::zorder=\(order)"
            pads += " \(pad)::sizing-policy=keep-aspect-ratio"
            branches += " \(input(view.input, view.format))\(flip(view)) ! mix.\(pad)"
        }
        return PipelinePlan(
            "compositor name=mix background=black\(pads) ! \(whole),framerate=\(rate)/1000 ! videoconvert ! \(last)"
                + branches, sink.properties, displayCard: sink.displayCard,
            needs: usual + [Element("compositor", in: base)] + sink.needs)
    }

    private static func sink(_ settings: ViewSettings) -> PipelinePlan {
        let device = settings.device
        switch settings.sink {
        case .kms:
            return PipelinePlan(
                "kmssink name=sink sync=false", displayCard: device, needs: [Element("kmssink", in: bad)])
        case .wayland:
            return PipelinePlan(
                "waylandsink name=sink sync=false fullscreen=true",
                device.map { [Property("sink", "display", $0)] } ?? [], needs: [Element("waylandsink", in: bad)])
        case .fbdev:
            return PipelinePlan(
                "fbdevsink name=sink sync=false", device.map { [Property("sink", "device", $0)] } ?? [],
                needs: [Element("fbdevsink", in: bad)])
        case .none, .device, .descriptor: return PipelinePlan("fakesink name=sink sync=false")
        }
    }

    /// The rectangle of its settings. Without one it is all of the display, and for the local picture in the remote one, a
    /// quarter of it at the lower right.
    static func place(of view: PlannedView, among views: [PlannedView], on canvas: FrameSize) -> PictureRectangle {
        let whole = PictureRectangle(x: 0, y: 0, size: canvas)
        if let rectangle = view.settings.rectangle { return rectangle }
        guard views.count > 1, view.side == .local else { return whole }
        let (width, height) = (max(1, canvas.width / 4), max(1, canvas.height / 4))
        let margin = canvas.width / 32
        return PictureRectangle(
            x: canvas.width - width - margin, y: canvas.height - height - margin, width: width, height: height)
            ?? whole
    }

    private static func flip(_ view: PlannedView) -> String {
        switch view.settings.rotation {
        case 90: " ! videoflip video-direction=90r"
        case 180: " ! videoflip video-direction=180"
        case 270: " ! videoflip video-direction=90l"
        default: ""
        }
    }

    /// Elements without which a view of these settings is not possible.
    package static func needs(of settings: ViewSettings) -> [Element] {
        let flip = settings.rotation == 0 ? [] : [Element("videoflip", in: good)]
        switch settings.sink {
        case .none: return []
        case .descriptor: return flip
        case .device: return flip + usual + [Element("v4l2sink", in: good)]
        case .kms, .wayland, .fbdev:
            return flip + usual + [Element("compositor", in: base)] + sink(settings).needs
        }
    }
}
