import BTCallAPI
import VideoCapture
import VideoPlan

// Views and sides as the bus has them.

extension ViewSettings {
    /// - Throws: `.invalidArgument` for a value out of range, or for values that do not go together, with what is accepted.
    init(_ request: ViewRequest) throws(APIError) {
        self.init(ViewSink(request.sink), device: request.device, rotation: request.rotation)
        if let asked = request.rectangle {
            guard let rectangle = PictureRectangle(x: asked.x, y: asked.y, width: asked.width, height: asked.height)
            else {
                throw APIError(
                    .invalidArgument, "rectangle is out of range; accepted: \(PictureRectangle.accepted)")
            }
            self.rectangle = rectangle
        }
        if let refusal { throw APIError(.invalidArgument, refusal) }
    }

    /// For `Video1.Views`.
    var request: ViewRequest {
        ViewRequest(
            sink.word, device: device,
            rectangle: rectangle.map {
                RectangleDescription(x: $0.x, y: $0.y, width: $0.size.width, height: $0.size.height)
            }, rotation: rotation)
    }
}

extension ViewSink {
    init(_ word: ViewRequest.Sink) {
        switch word {
        case .none: self = .none
        case .kms: self = .kms
        case .wayland: self = .wayland
        case .fbdev: self = .fbdev
        case .device: self = .device
        case .descriptor: self = .descriptor
        }
    }

    fileprivate var word: ViewRequest.Sink {
        switch self {
        case .none: .none
        case .kms: .kms
        case .wayland: .wayland
        case .fbdev: .fbdev
        case .device: .device
        case .descriptor: .descriptor
        }
    }
}

extension PictureSide {
    init(_ word: PictureSideWord) {
        switch word {
        case .local: self = .local
        case .remote: self = .remote
        }
    }
}
