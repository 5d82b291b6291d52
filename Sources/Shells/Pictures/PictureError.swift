package import ControlLoop
package import VideoPlan

/// Why a pipeline does not run. All are expected: devices, plug-ins and files are somebody else's.
package enum PictureError: Error, Equatable, Sendable, CustomStringConvertible {
    /// An element of GStreamer is not installed.
    case missing(PipelinePlan.Element)
    /// GStreamer, or a pipeline of it, does not start.
    case failed(String)
    case system(SystemError, path: String)

    package var description: String {
        switch self {
        case .missing(let element):
            "GStreamer's element \(element.name) is not installed: install the package \(element.package)"
        case .failed(let text): PrintableText.line(text)
        case .system(let error, let path): PrintableText.line("\(path): \(error)")
        }
    }
}
