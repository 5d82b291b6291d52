import Testing
import VideoPlan

/// Settings of views and backgrounds, from texts.
@Suite struct ViewSettingsTests {
    @Test(arguments: ["0,0,640x480", "-16384,16384,1x16384", "10,-20,30x40"])
    func `a rectangle is read and written`(text: String) throws {
        #expect(try #require(PictureRectangle(text)).description == text)
    }

    @Test(arguments: [
        "", "0,0", "0,0,640", "0,0,640x0", "0,0,x", "a,0,1x1", "0,0,640x480,1", "16385,0,1x1", "0,-16385,1x1",
        "0,0,16385x1", "--1,0,1x1", "99999999999999999999,0,1x1", "+1,0,1x1", " 0,0,1x1", "-,0,1x1",
    ])
    func `a text that is no rectangle is refused`(text: String) {
        #expect(PictureRectangle(text) == nil)
    }

    @Test(arguments: [
        ViewSettings(), ViewSettings(.kms), ViewSettings(.kms, device: "/dev/dri/card1", rotation: 270),
        ViewSettings(.wayland), ViewSettings(.wayland, device: "wayland-0"), ViewSettings(.fbdev, device: "/dev/fb1"),
        ViewSettings(.device, device: "/dev/video-btcall"), ViewSettings(.descriptor, rotation: 180),
    ])
    func `settings that go together are accepted`(settings: ViewSettings) {
        #expect(settings.refusal == nil)
    }

    @Test(arguments: [
        (ViewSettings(.kms, rotation: 45), "rotation is 45; accepted: 0, 90, 180 or 270"),
        (ViewSettings(.kms, rotation: -90), "rotation is -90; accepted: 0, 90, 180 or 270"),
        (ViewSettings(.kms, device: "/dev/fb0"), "accepted for kms: a card such as /dev/dri/card0"),
        (ViewSettings(.kms, device: "/dev/dri/../mem"), "accepted for kms"),
        (ViewSettings(.kms, device: "/dev/dri/"), "accepted for kms"),
        (ViewSettings(.fbdev, device: "fb0"), "accepted for fbdev"),
        (ViewSettings(.device), "needs a device"),
        (ViewSettings(.device, device: "/etc/passwd"), "a V4L2 output node"),
        (ViewSettings(.wayland, device: "a b"), "accepted for wayland"),
        (ViewSettings(.none, device: "/dev/fb0"), "sink none has no device"),
        (ViewSettings(.descriptor, device: "/dev/fb0"), "sink descriptor has no device"),
        (ViewSettings(.none, rotation: 90), "sink none has no rotation"),
    ])
    func `settings that do not go together are refused with what is accepted`(settings: ViewSettings, text: String) {
        #expect(settings.refusal?.contains(text) == true, "\(settings.refusal ?? "accepted")")
    }

    @Test func `only a display has a rectangle`() throws {
        let rectangle = try #require(PictureRectangle("0,0,1x1"))
        for sink in ViewSink.allCases {
            let device = sink == .device ? "/dev/video9" : nil
            let refusal = ViewSettings(sink, device: device, rectangle: rectangle).refusal
            #expect((refusal == nil) == sink.isDisplay, "\(sink)")
        }
    }

    @Test func `the sinks are listed for messages`() {
        #expect(ViewSink.configurable == "none, kms, wayland, fbdev or device")
    }

    @Test(arguments: ["off", "blur", "/usr/share/a picture.png"])
    func `a background is read and written`(text: String) {
        #expect(BackgroundChoice(text)?.description == text)
    }

    @Test(arguments: ["", "on", "picture.png", "/a\nb", "/" + String(repeating: "a", count: 1023), "Blur"])
    func `a text that is no background is refused`(text: String) {
        #expect(BackgroundChoice(text) == nil)
    }

    // MARK: Files

    private func big(_ number: Int, _ count: Int) -> [UInt8] {
        (0..<count).reversed().map { UInt8(truncatingIfNeeded: number >> (8 * $0)) }
    }

    private func png(_ width: Int, _ height: Int) -> [UInt8] {
        let signature: [UInt8] = [0x89, 0x50, 0x4E, 0x47, 0x0D, 0x0A, 0x1A, 0x0A]
        let parts = [signature, big(13, 4), Array("IHDR".utf8), big(width, 4), big(height, 4), [8, 2, 0, 0, 0]]
        return parts.flatMap { $0 }
    }

    private func jpeg(_ width: Int, _ height: Int) -> [UInt8] {
        let comment: [UInt8] = [0xFF, 0xFE] + big(6, 2) + [1, 2, 3, 4]
        let table: [UInt8] = [0xFF, 0xC4] + big(4, 2) + [0, 0]
        let frame: [UInt8] = [0xFF, 0xFF, 0xC2] + big(17, 2) + [8] + big(height, 2) + big(width, 2) + [3]
        return [0xFF, 0xD8] + comment + table + frame
    }

    @Test func `the size of a picture is read from its beginning`() throws {
        let first = try #require(PictureFile(png(640, 480)))
        #expect(first.kind == .png && first.width == 640 && first.height == 480)
        let second = try #require(PictureFile(jpeg(1280, 720)))
        #expect(second.kind == .jpeg && second.width == 1280 && second.height == 720)
    }

    @Test func `a picture with too many pixels, without any, or of another kind is refused`() {
        #expect(PictureFile(png(8193, 1)) == nil && PictureFile(png(1, 0xFFFF_FFFF)) == nil)
        #expect(PictureFile(jpeg(0, 10)) == nil && PictureFile(jpeg(10, 60_000)) == nil)
        #expect(PictureFile(Array("GIF89a".utf8)) == nil && PictureFile([]) == nil)
    }

    @Test func `a picture that is cut off anywhere is refused or has its size`() {
        for bytes in [png(640, 480), jpeg(640, 480)] {
            for count in bytes.indices {
                let file = PictureFile(Array(bytes[..<count]))
                #expect(file == nil || file?.width == 640)
            }
        }
    }

    @Test func `a picture of random bytes is refused or within bounds`() {
        var state: UInt32 = 1
        for _ in 0..<2000 {
            var bytes: [UInt8] = [0xFF, 0xD8, 0xFF]
            for _ in 0..<40 {
                state = state &* 1_664_525 &+ 1_013_904_223
                bytes.append(UInt8(truncatingIfNeeded: state >> 24))
            }
            if let file = PictureFile(bytes) { #expect(file.width <= 8192 && file.height <= 8192) }
        }
    }
}
