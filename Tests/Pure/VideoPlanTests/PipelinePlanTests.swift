import Testing
import VideoCapture
import VideoPlan

/// Pipelines are our own words and numbers; texts from outside become properties.
@Suite struct PipelinePlanTests {
    private func format(_ width: Int, _ height: Int, _ thousandths: Int = 30_000) throws -> PictureFormat {
        PictureFormat(try #require(FrameSize(width, height)), FrameRate(thousandths: thousandths))
    }

    private func settings(_ code: String, _ thousandths: Int?) throws -> CaptureSettings {
        CaptureSettings(
            try #require(PixelFormat(code)), try #require(FrameSize(640, 480)),
            thousandths.flatMap { FrameRate(thousandths: $0) })
    }

    @Test(arguments: [
        ((640, 480), (640, 480)), ((1366, 768), (1360, 768)), ((854, 481), (848, 480)), ((1, 1), (16, 16)),
        ((16_384, 16_384), (4096, 2304)), ((720, 576), (720, 576)),
    ])
    func `a picture's rows have no padding`(asked: (Int, Int), expected: (Int, Int)) throws {
        let format = try format(asked.0, asked.1)
        #expect(format.width == expected.0 && format.height == expected.1)
        #expect(format.width % 8 == 0 && format.height % 2 == 0)
    }

    @Test func `a picture has at most 60 frames per second, and 30 if nobody knows`() throws {
        #expect(try format(640, 480, 120_000).rateThousandths == 60_000)
        #expect(try format(640, 480, 29_970).framesPerSecond == 29.97)
        #expect(PictureFormat(try #require(FrameSize(640, 480)), nil).rateThousandths == 30_000)
        #expect(PictureFormat(requested: CaptureRequest()).description == "640x480 at 30 frames per second")
        let request = CaptureRequest(try #require(.init("800x600")), framesPerSecond: 25)
        #expect(PictureFormat(requested: request).description == "800x600 at 25 frames per second")
    }

    @Test(arguments: [
        ("YUYV", "video/x-raw,format=YUY2,width=640,height=480,framerate=[29849/1000,30151/1000] ! videoconvert"),
        ("MJPG", "image/jpeg,width=640,height=480,framerate=[29849/1000,30151/1000] ! jpegdec ! videoconvert"),
        ("NM12", "video/x-raw,format=NV12,width=640,height=480,framerate=[29849/1000,30151/1000] ! videoconvert"),
        ("XR24", "video/x-raw,format=BGRx,width=640,height=480,framerate=[29849/1000,30151/1000] ! videoconvert"),
    ])
    func `a camera's pipeline has the caps that its driver has reached`(code: String, caps: String) throws {
        let plan = PipelinePlan.camera("/dev/video0", try settings(code, 30_000), try format(640, 480))
        #expect(plan.description.hasPrefix("v4l2src name=camera ! \(caps) ! "))
        #expect(plan.properties == [PipelinePlan.Property("camera", "device", "/dev/video0")])
    }

    @Test func `a rate that the driver does not say is not asked for`() throws {
        let plan = PipelinePlan.camera("/dev/video0", try settings("YUYV", nil), try format(640, 480))
        #expect(plan.description.hasPrefix("v4l2src name=camera ! video/x-raw,format=YUY2,width=640,height=480 ! "))
    }

    @Test func `every usable pixel format has a name in GStreamer`() throws {
        for code in PixelFormat.preference where code != "GREY" {
            let plan = PipelinePlan.camera("/dev/video0", try settings(code, nil), try format(640, 480))
            #expect(!plan.description.contains("GRAY8"), "\(code)")
        }
    }

    @Test func `a name on the card cannot add elements or markup`() throws {
        let plan = PipelinePlan.card("Door\" ! filesink location=/etc/x <b>&", try format(640, 480))
        #expect(!plan.description.contains("Door") && !plan.description.contains("filesink"))
        let text = PipelinePlan.Property(
            "text", "text", "Door\" ! filesink location=/etc/x &lt;b&gt;&amp;")
        #expect(plan.properties == [text])
    }

    @Test func `a device's path is a property, and never part of the description`() throws {
        let format = try format(640, 480)
        let bad = "/dev/fb0 ! fakesink"
        let canvas = try #require(FrameSize(800, 600))
        for sink in [ViewSink.wayland, .fbdev] {
            let view = PlannedView(.local, ViewSettings(sink, device: bad), format)
            let plan = PipelinePlan.display([view], on: canvas)
            #expect(!plan.description.contains("fakesink"))
            #expect(plan.properties.map(\.text) == [bad])
        }
        let card = PipelinePlan.display([PlannedView(.local, ViewSettings(.kms, device: bad), format)], on: canvas)
        #expect(!card.description.contains("fakesink") && card.displayCard == bad)
        let node = PipelinePlan.outputDevice(bad, PlannedView(.local, ViewSettings(.device, device: bad), format))
        #expect(!node.description.contains("fakesink") && node.properties.map(\.text) == [bad])
    }

    // MARK: Views

    @Test func `views of the same display are one pipeline, the others two`() throws {
        let format = try format(640, 480)
        func groups(_ local: ViewSettings, _ remote: ViewSettings) -> [[PictureSide]] {
            PlannedView.groups([PlannedView(.remote, remote, format), PlannedView(.local, local, format)])
                .map { $0.map(\.side) }
        }
        let card = ViewSettings(.kms, device: "/dev/dri/card0")
        #expect(groups(card, card) == [[.local, .remote]])
        #expect(groups(card, ViewSettings(.kms, device: "/dev/dri/card1")) == [[.local], [.remote]])
        #expect(groups(card, ViewSettings(.fbdev)) == [[.local], [.remote]])
        #expect(groups(ViewSettings(.descriptor), ViewSettings(.descriptor)) == [[.local], [.remote]])
        let node = ViewSettings(.device, device: "/dev/video9")
        #expect(groups(node, node) == [[.local], [.remote]])
    }

    @Test func `one view without a rectangle needs no compositor`() throws {
        let canvas = try #require(FrameSize(1920, 1080))
        let plan = PipelinePlan.display(
            [PlannedView(.remote, ViewSettings(.kms, rotation: 90), try format(640, 480))], on: canvas)
        #expect(!plan.description.contains("compositor"))
        #expect(plan.description.contains(" ! videoflip video-direction=90r ! videoscale add-borders=true ! "))
        #expect(plan.description.contains("width=1920,height=1080"))
        #expect(plan.description.hasSuffix(" ! kmssink name=sink sync=false"))
        #expect(plan.needs.contains(PipelinePlan.Element("kmssink", in: "gstreamer1.0-plugins-bad")))
    }

    @Test func `picture in picture has the local one in the corner above the remote one`() throws {
        let canvas = try #require(FrameSize(1280, 720))
        let format = try format(640, 480)
        let plan = PipelinePlan.display(
            [
                PlannedView(.local, ViewSettings(.fbdev), format), PlannedView(.remote, ViewSettings(.fbdev), format),
            ], on: canvas, end: "fakesink")
        let local = "sink_0::xpos=920 sink_0::ypos=500 sink_0::width=320 sink_0::height=180 sink_0::zorder=2"
        let remote = "sink_1::xpos=0 sink_1::ypos=0 sink_1::width=1280 sink_1::height=720 sink_1::zorder=1"
        #expect(plan.description.contains(local) && plan.description.contains(remote))
        #expect(plan.description.contains("name=local") && plan.description.contains("name=remote"))
    }

    @Test func `a rectangle is where the configuration puts it`() throws {
        let canvas = try #require(FrameSize(1280, 720))
        let rectangle = try #require(PictureRectangle("-10,20,300x200"))
        let plan = PipelinePlan.display(
            [PlannedView(.local, ViewSettings(.kms, rectangle: rectangle), try format(640, 480))], on: canvas)
        #expect(
            plan.description.contains(
                "sink_0::xpos=-10 sink_0::ypos=20 sink_0::width=300 sink_0::height=200 sink_0::zorder=2"))
    }

    @Test func `a stream begins with a line of its size and rate`() throws {
        let header = String(decoding: try format(640, 480, 29_970).streamHeader, as: UTF8.self)
        #expect(header == "YUV4MPEG2 W640 H480 F29970:1000 Ip A1:1 C420jpeg\n")
    }
}
