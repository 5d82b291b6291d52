import TestSupport
import Testing
import VideoCapture

/// What a driver's answers and a request become. The driver sets what it is asked, unless the case says otherwise.
@Suite struct NegotiationTableTests {
    /// The driver's answers to settings.
    enum Manner: Sendable {
        case honest
        /// This size whatever is set, with the requested format and interval.
        case size(UInt32, UInt32)
        /// This rate whatever is set.
        case rate(UInt32)
        /// This format whatever is set.
        case format(String)
        /// No interval in the answer.
        case silent
        case refusing
        /// Refuses settings with this format.
        case refusingFormat(String)
        /// Answers settings with this height with that rate.
        case slowAt(Int, UInt32)
    }

    struct Case: Sendable, CustomTestStringConvertible {
        let camera: String
        let resolution: String
        let rate: Int
        let result: String
        let manner: Manner

        init(_ camera: String, _ resolution: String, _ rate: Int, _ result: String, _ manner: Manner = .honest) {
            (self.camera, self.resolution, self.rate, self.result) = (camera, resolution, rate, result)
            self.manner = manner
        }

        var testDescription: String { "\(camera) \(resolution) \(rate) -> \(result) \(manner)" }
    }

    @Test(arguments: automatic + fixed + ranges + intervals + liars)
    func `a request and a driver's answers give one setting`(_ row: Case) throws {
        let request = CaptureRequest(
            try DriverAnswers.required(CaptureRequest.Resolution(row.resolution)), framesPerSecond: row.rate)
        let camera = try DriverAnswers(row.camera)
        let questions = CaptureNegotiation.questions(camera.offers, for: request)
        var negotiation = CaptureNegotiation(request, camera.offers, intervals: camera.answers(to: questions))
        var action = negotiation.start()
        var settings = 0
        while case .set(let choice) = action, settings < 10 {
            settings += 1
            action = negotiation.answered(Self.answer(choice, row.manner))
        }
        #expect(settings <= CaptureNegotiation.mostAttempts + 1)
        #expect(Self.text(action) == row.result)
        // Whatever comes later does not change the result.
        #expect(negotiation.answered(.refused) == action)
    }

    @Test func `the table has the cases that are promised`() {
        #expect((Self.automatic + Self.fixed + Self.ranges + Self.intervals + Self.liars).count >= 60)
        #expect(Self.liars.count >= 20)
    }

    private static func answer(_ choice: CaptureChoice, _ manner: Manner) -> CaptureNegotiation.Answer {
        var (format, interval) = (choice.format, choice.interval)
        var (width, height) = (UInt32(choice.size.width), UInt32(choice.size.height))
        switch manner {
        case .honest: break
        case .size(let across, let down): (width, height) = (across, down)
        case .rate(let rate): interval = FrameInterval(1, rate)
        case .format(let name): format = PixelFormat(name) ?? format
        case .silent: interval = nil
        case .refusing: return .refused
        case .refusingFormat(let name): if format.description == name { return .refused }
        case .slowAt(let down, let rate): if choice.size.height == down { interval = FrameInterval(1, rate) }
        }
        return .set(format: format, width: width, height: height, interval: interval)
    }

    /// `1280x720 MJPG 30`; `?` for an unknown rate.
    private static func text(_ action: CaptureNegotiation.Action) -> String {
        switch action {
        case .set(let choice): "set \(choice.size) again"
        case .reached(let settings):
            "\(settings.size) \(settings.format) \(settings.rate.map { "\($0)" } ?? "?")"
        case .refused(.noFormat): "no format"
        case .refused(.noSize): "no size"
        case .refused(.noneAccepted(let tried)): "none of \(tried)"
        }
    }

    // MARK: The table

    static let automatic = [
        Case("YUYV 640x480@30,15 1280x720@10; MJPG 1280x720@30", "auto", 30, "1280x720 MJPG 30"),
        Case("YUYV 640x480@30 1280x720@30; MJPG 1280x720@30", "auto", 30, "1280x720 YUYV 30"),
        Case("MJPG 1920x1080@30 1280x720@30 640x480@30", "auto", 30, "1280x720 MJPG 30"),
        Case("YUYV 640x480@30 1280x720@10", "auto", 30, "640x480 YUYV 30"),
        Case("YUYV 640x480@30 1280x720@10", "auto", 10, "1280x720 YUYV 10"),
        Case("YUYV 640x480@25 1280x720@10", "auto", 30, "640x480 YUYV 25"),
        Case("YUYV 640x480@15,60", "auto", 30, "640x480 YUYV 60"),
        Case("YUYV 640x480@120,60", "auto", 30, "640x480 YUYV 60"),
        Case("YUYV 640x480@1001/30000", "auto", 30, "640x480 YUYV 29.97"),
        Case("NV12 960x720@30 1280x720@25", "auto", 30, "960x720 NV12 30"),
        Case("NV12 848x480@30 640x480@30", "auto", 30, "848x480 NV12 30"),
        Case("NV12 352x288@30 320x240@30", "auto", 30, "320x240 NV12 30"),
        Case("NV12 352x288@30 176x144@30", "auto", 30, "352x288 NV12 30"),
        Case("NV12 1920x1080@30 3840x2160@30", "auto", 30, "1920x1080 NV12 30"),
        Case("NV12 1920x1080@30 720x720@30", "auto", 30, "720x720 NV12 30"),
        Case("GREY 640x480@30; UYVY 640x480@30", "auto", 30, "640x480 UYVY 30"),
        Case("H264 1280x720@30; YUYV 320x240@15", "auto", 30, "320x240 YUYV 15"),
        Case("YUYV 640x480 320x240@30", "auto", 30, "320x240 YUYV 30"),
        Case("YUYV 640x480 320x240@15", "auto", 30, "640x480 YUYV ?"),
        Case("YUYV 1280x720@5 640x480@20 320x240@20", "auto", 30, "640x480 YUYV 20"),
        Case("NV12 1024x576@30 800x600@30", "auto", 30, "1024x576 NV12 30"),
        Case("YUYV 1280x720@30", "auto", 1000, "1280x720 YUYV 30"),
        Case("YUYV 1280x720@30", "auto", 0, "1280x720 YUYV 30"),
    ]

    static let fixed = [
        Case("YUYV 640x480@30 1280x720@10", "1280x720", 30, "1280x720 YUYV 10"),
        Case("YUYV 640x480@30; MJPG 1280x720@30", "1280x720", 30, "1280x720 MJPG 30"),
        Case("YUYV 640x480@30 1280x720@10", "800x600", 30, "640x480 YUYV 30"),
        Case("YUYV 640x480@30 1280x720@10", "1920x1080", 30, "1280x720 YUYV 10"),
        Case("YUYV 640x480@15,60", "640x480", 30, "640x480 YUYV 15"),
        Case("YUYV 640x480@20,40", "640x480", 30, "640x480 YUYV 40"),
        Case("YUYV 640x480@25,30", "640x480", 27, "640x480 YUYV 25"),
        Case("YUYV 640x480@25,30", "640x480", 28, "640x480 YUYV 30"),
        Case("YUYV 640x480@10; MJPG 640x480@30", "640x480", 30, "640x480 MJPG 30"),
        Case("YUYV 640x480; MJPG 640x480@5", "640x480", 30, "640x480 MJPG 5"),
        Case("YUYV 600x480@30 680x480@30", "640x480", 30, "680x480 YUYV 30"),
        Case("YUYV 1x1@1", "16384x16384", 30, "1x1 YUYV 1"),
    ]

    static let ranges = [
        Case("NV12 16..1920/16x16..1080/8@30", "auto", 30, "1280x720 NV12 30"),
        Case("NV12 2~4096x2~3072@30", "auto", 30, "1280x720 NV12 30"),
        Case("NV12 16..800/16x16..600/8@30", "auto", 30, "800x600 NV12 30"),
        Case("NV12 48..640/16x32..480/16@30", "640x360", 30, "640x368 NV12 30"),
        Case("NV12 16~1280x16~720@30", "642x362", 30, "642x362 NV12 30"),
        Case("NV12 16..1280/2x16..720/2@30", "641x361", 30, "642x362 NV12 30"),
        Case("NV12 16~1280x16~720@30", "4000x3000", 30, "1280x720 NV12 30"),
        Case("NV12 320~1280x240~720@30", "16x16", 30, "320x240 NV12 30"),
        Case("NV12 1920~4096x1080~3072@30", "auto", 30, "1920x1080 NV12 30"),
    ]

    static let intervals = [
        Case("NV12 640x480@1/60~1/5", "640x480", 30, "640x480 NV12 30"),
        Case("NV12 640x480@1/20~1/5", "640x480", 30, "640x480 NV12 20"),
        Case("NV12 640x480@1/60~1/40", "640x480", 30, "640x480 NV12 40"),
        Case("NV12 640x480@1/60..1/5+1/60", "640x480", 30, "640x480 NV12 30"),
        Case("NV12 640x480@1/100..1/10+1/100", "640x480", 30, "640x480 NV12 33.333"),
        Case("NV12 640x480@1/100..1/10+1/100", "auto", 30, "640x480 NV12 33.333"),
        Case("NV12 640x480@1/100..1/10+1/100", "auto", 40, "640x480 NV12 50"),
        Case("NV12 640x480@333333/10000000,1/15", "640x480", 30, "640x480 NV12 30"),
    ]

    static let liars = [
        // Steps of zero: only the ends are known.
        Case("NV12 640..1280/0x480..720/0@30", "700x500", 30, "640x480 NV12 30"),
        Case("NV12 640..1280/0x480..720/0@30", "auto", 30, "1280x720 NV12 30"),
        Case("NV12 640..640/0x480..480/0@30", "800x600", 30, "640x480 NV12 30"),
        Case("NV12 640x480@1/60..1/20+0/1", "640x480", 30, "640x480 NV12 20"),
        Case("NV12 640x480@1/60..1/20+0/0", "640x480", 45, "640x480 NV12 60"),
        // Ends in the wrong order.
        Case("NV12 1280..16/16x720..16/8@30", "auto", 30, "1280x720 NV12 30"),
        Case("NV12 640x480@1/5~1/60", "640x480", 30, "640x480 NV12 30"),
        Case("NV12 640x480@1/5..1/60+1/60", "640x480", 30, "640x480 NV12 30"),
        // Intervals that are none.
        Case("NV12 640x480@0/0", "640x480", 30, "640x480 NV12 ?"),
        Case("NV12 640x480@0/1,30/0,1/25", "640x480", 30, "640x480 NV12 25"),
        Case("NV12 640x480@0/0~1/15", "640x480", 30, "640x480 NV12 15"),
        Case("NV12 640x480@1/4294967295,4294967295/1", "640x480", 30, "640x480 NV12 ?"),
        // Sizes that are none.
        Case("NV12 0x0@30 640x480@30", "auto", 30, "640x480 NV12 30"),
        Case("NV12 0x0@30 4294967295x1@30", "auto", 30, "no size"),
        Case("NV12 0..4294967295/4294967295x0..4294967295/1@30", "640x480", 30, "1x480 NV12 30"),
        Case("NV12 20000..30000/1x1..2/1@30", "640x480", 30, "no size"),
        // Duplicates.
        Case("NV12 640x480@30,30,30 640x480@30; NV12 640x480@30", "auto", 30, "640x480 NV12 30"),
        // Nothing at all.
        Case("NV12", "auto", 30, "no size"),
        Case("H264 1280x720@30; RGGB 640x480@30", "auto", 30, "no format"),
        Case("", "auto", 30, "no format"),
        // What is enumerated is not what is set.
        Case("NV12 1280x720@30 640x480@30", "auto", 30, "640x480 NV12 30", .size(640, 480)),
        Case("NV12 1280x720@30 640x480@30", "1280x720", 30, "320x240 NV12 30", .size(320, 240)),
        Case("NV12 1280x720@30 640x480@30", "auto", 30, "none of 2", .size(0, 0)),
        Case("NV12 1280x720@30 640x480@30", "auto", 30, "640x480 NV12 30", .slowAt(720, 10)),
        Case("NV12 1280x720@30 640x480@30", "auto", 30, "1280x720 NV12 5", .rate(5)),
        Case("NV12 1280x720@30", "auto", 30, "1280x720 NV12 60", .rate(60)),
        Case("NV12 1280x720@30", "auto", 30, "1280x720 YUYV 30", .format("YUYV")),
        Case("NV12 1280x720@30", "auto", 30, "none of 1", .format("H264")),
        Case("NV12 1280x720@30", "auto", 30, "1280x720 NV12 ?", .silent),
        Case("NV12 1280x720@30; YUYV 1280x720@30", "auto", 30, "1280x720 YUYV 30", .refusingFormat("NV12")),
        Case("NV12 1280x720@30 640x480@30 320x240@30 160x120@30 800x600@30", "auto", 30, "none of 4", .refusing),
    ]
}
