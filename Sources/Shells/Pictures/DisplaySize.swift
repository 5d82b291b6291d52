import BoardInput
import CPictures
package import VideoCapture
package import VideoPlan

/// Sizes of displays, as the kernel knows them.
package enum DisplaySize {
    private static let classes = "/sys/class/drm"
    /// Taken where the kernel does not say it; sinks scale then.
    private static let usual = (width: 1280, height: 720)

    /// The display of a view, in pixels.
    ///
    /// - Parameter drm: directory of the kernel's displays.
    package static func size(of settings: ViewSettings, drm: String = classes) -> FrameSize? {
        let found: FrameSize? =
            switch settings.sink {
            case .kms: connected(drm, card: settings.device ?? "/dev/dri/card0")
            // The compositor has all of them.
            case .wayland: connected(drm, card: nil)
            case .fbdev: framebuffer(settings.device ?? "/dev/fb0")
            case .none, .device, .descriptor: nil
            }
        return found ?? FrameSize(usual.width, usual.height)
    }

    /// The preferred mode of the first connected display.
    ///
    /// - Parameter card: path of a card; nil: any.
    private static func connected(_ drm: String, card: String?) -> FrameSize? {
        let name = card.map { Directory.resolve($0) ?? $0 }?.split(separator: "/").last.map { "\($0)-" }
        let displays = Directory.names(drm).sorted().filter { display in
            name.map { display.hasPrefix($0) } ?? display.contains("-")
        }
        for display in displays where Directory.text("\(drm)/\(display)/status") == "connected" {
            // "1920x1080", or "1920x1080i" for an interlaced one.
            let mode = Directory.text("\(drm)/\(display)/modes")?.split(separator: "\n").first
            if let size = mode.flatMap({ FrameSize(String($0.prefix { $0 == "x" || $0.isNumber })) }) { return size }
        }
        return nil
    }

    private static func framebuffer(_ path: String) -> FrameSize? {
        var (width, height) = (UInt32(0), UInt32(0))
        guard btcall_framebuffer_size(path, &width, &height) == 0 else { return nil }
        return FrameSize(Int(width), Int(height))
    }
}
