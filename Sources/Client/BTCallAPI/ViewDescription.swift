package import DBus

/// One of the two pictures of a call: argument of `Video1.SetView` and `Video1.OpenTap`, entry of `Video1.Views`.
package enum PictureSideWord: String, Hashable, Sendable, CaseIterable {
    /// What the far end gets; its view is the preview.
    case local
    /// What the far end sends.
    case remote

    /// - Throws: `.invalidArgument` for another word, naming the accepted ones.
    package init(argument text: String) throws(APIError) {
        guard let side = Self(rawValue: try TextLimit.word.check(text, "side")) else {
            let accepted = Self.allCases.map(\.rawValue).joined(separator: ", ")
            throw APIError(.invalidArgument, "side is \"\(text)\"; accepted: \(accepted)")
        }
        self = side
    }
}

/// Part of a display, in pixels: `(iiuu)` on the bus.
package struct RectangleDescription: Hashable, Sendable {
    package var x: Int
    package var y: Int
    package var width: Int
    package var height: Int

    package init(x: Int, y: Int, width: Int, height: Int) {
        self.x = x
        self.y = y
        self.width = width
        self.height = height
    }

    /// - Returns: nil for a value of another type.
    init?(_ value: Value) {
        let numbers = value.structureValue?.compactMap(\.integerValue) ?? []
        guard numbers.count == 4, value.structureValue?.count == 4 else { return nil }
        self.init(x: numbers[0], y: numbers[1], width: numbers[2], height: numbers[3])
    }

    var value: Value {
        .structure([
            .int32(Int32(clamping: x)), .int32(Int32(clamping: y)), .uint32(UInt32(clamping: width)),
            .uint32(UInt32(clamping: height)),
        ])
    }
}

/// Where a view shows its picture: argument of `Video1.SetView`.
package struct ViewRequest: Hashable, Sendable {
    package enum Sink: String, Hashable, Sendable, CaseIterable {
        /// Nothing is shown.
        case none
        /// A display by the kernel's mode setting, without a desktop.
        case kms
        /// A window of a Wayland compositor.
        case wayland
        /// A framebuffer.
        case fbdev
        /// A V4L2 output node.
        case device
        /// A descriptor of the client.
        case descriptor
    }

    package var sink: Sink
    /// Path of the card, the framebuffer or the V4L2 node, or the name of the Wayland display; nil: the first.
    package var device: String?
    /// Nil: all of the display.
    package var rectangle: RectangleDescription?
    /// Degrees clockwise: 0, 90, 180 or 270.
    package var rotation: Int
    /// Gets YUV4MPEG2; nil unless ``sink`` is `descriptor`.
    package var descriptor: PassedDescriptor?

    package init(
        _ sink: Sink, device: String? = nil, rectangle: RectangleDescription? = nil, rotation: Int = 0,
        descriptor: PassedDescriptor? = nil
    ) {
        self.sink = sink
        self.device = device
        self.rectangle = rectangle
        self.rotation = rotation
        self.descriptor = descriptor
    }

    /// Reads the values; what goes with what, btcall-video checks.
    ///
    /// - Returns: nil for an empty dictionary: what the configuration says.
    /// - Throws: `.invalidArgument` for a value of another type, an unknown sink, and a descriptor without its sink.
    package init?(_ fields: Fields) throws(APIError) {
        guard !fields.values.isEmpty else { return nil }
        self.init(
            try fields.word("sink", of: Sink.self), device: try fields.optionalString("device", .address)?.nonEmpty,
            rectangle: fields.values["rectangle"].flatMap { RectangleDescription($0) },
            rotation: try fields.optionalInteger("rotation") ?? 0,
            descriptor: fields.values["descriptor"]?.descriptorValue)
        guard (descriptor == nil) == (sink != .descriptor) else {
            let text = sink == .descriptor ? "is missing (h)" : "is for the sink descriptor only"
            throw APIError(.invalidArgument, "descriptor in \(fields.subject) \(text)")
        }
    }

    package var fields: [String: Value] {
        [String: Value](present: [
            "sink": .string(sink.rawValue), "device": .text(device), "rectangle": rectangle?.value,
            // A negative one is refused, not changed.
            "rotation": UInt32(exactly: rotation).map { .uint32($0) } ?? .int64(Int64(rotation)),
            "descriptor": descriptor.map { .unixDescriptor($0) },
        ])
    }
}

/// A view as it is: an entry of `Video1.Views`.
package struct ViewDescription: Hashable, Sendable {
    /// As requested, or as configured; its descriptor is not shown.
    package var view: ViewRequest
    /// Whether it shows a picture now.
    package var isRunning: Bool
    /// Why it does not, for people; nil while nothing is wrong.
    package var problem: String?

    package init(_ view: ViewRequest, isRunning: Bool = false, problem: String? = nil) {
        self.view = view
        self.view.descriptor = nil
        self.isRunning = isRunning
        self.problem = problem
    }

    package init(_ fields: Fields) throws(APIError) {
        let view = ViewRequest(
            try fields.word("sink", of: ViewRequest.Sink.self), device: try fields.optionalString("device")?.nonEmpty,
            rectangle: fields.values["rectangle"].flatMap { RectangleDescription($0) },
            rotation: try fields.optionalInteger("rotation") ?? 0)
        self.init(
            view, isRunning: try fields.bool("running"), problem: try fields.optionalString("problem")?.nonEmpty)
    }

    package var fields: [String: Value] {
        view.fields.merging([String: Value](present: ["running": .bool(isRunning), "problem": .text(problem)])) {
            first, _ in first
        }
    }
}
