import TestSupport
import Testing
import VideoCapture

/// Numbers from a driver, which may be any, and lists, which may be endless.
@Suite struct NegotiationBoundTests {
    private func size(_ width: Int, _ height: Int) throws -> FrameSize { try #require(FrameSize(width, height)) }

    @Test func `an endless list of sizes and formats is read to its bound only`() {
        let sizes = (0..<100_000).map { SizeAnswer.discrete(width: 1 + UInt32($0) % 16_000, height: 100) }
        let offers = (0..<1000).map { _ in FormatOffer(PixelFormat(code: 0x3231_564E), sizes: sizes) }
        for resolution in ["auto", "640x480"] {
            let request = CaptureRequest(CaptureRequest.Resolution(resolution) ?? .automatic)
            #expect(CaptureNegotiation.questions(offers, for: request).count <= 16)
        }
    }

    @Test func `an endless list of intervals is read to its bound only`() throws {
        let offer = FormatOffer(PixelFormat(code: 0x3231_564E), sizes: [.discrete(width: 640, height: 480)])
        let endless = (0..<100_000).map { IntervalAnswer.discrete(FrameInterval(1, 1 + UInt32($0) % 500)) }
        let request = CaptureRequest(.automatic, framesPerSecond: 400)
        let question = CaptureQuestion(offer.format, try size(640, 480))
        var negotiation = CaptureNegotiation(request, [offer], intervals: [question: endless])
        // The 256th rate is 256.
        #expect(
            negotiation.start() == .set(CaptureChoice(offer.format, try size(640, 480), FrameInterval(1, 256))))
    }

    @Test func `any numbers give a legal setting or a refusal, and the same ones the same`() throws {
        var random = SeededGenerator(seed: 28)
        let edges: [UInt32] = [0, 1, 2, 15, 16, 30, 479, 640, 720, 1280, 16_384, 16_385, .max - 1, .max]
        func number() -> UInt32 {
            if Bool.random(using: &random) { return edges[random.below(edges.count)] }
            return UInt32.random(in: 0...5000, using: &random)
        }
        func fraction() -> FrameInterval { FrameInterval(number(), number()) }
        func axis() -> SizeAnswer.Axis { SizeAnswer.Axis(number(), number(), step: number()) }
        func sizeAnswer() -> SizeAnswer {
            switch random.below(3) {
            case 0: .discrete(width: number(), height: number())
            case 1: .stepwise(width: axis(), height: axis())
            default: .continuous(width: axis(), height: axis())
            }
        }
        func intervalAnswer() -> IntervalAnswer {
            switch random.below(3) {
            case 0: .discrete(fraction())
            case 1: .stepwise(least: fraction(), most: fraction(), step: fraction())
            default: .continuous(least: fraction(), most: fraction())
            }
        }
        let formats = ["NV12", "YUYV", "MJPG", "H264"].compactMap { PixelFormat($0) }
        for round in 0..<3000 {
            let offers = formats.map { format in
                FormatOffer(format, sizes: (0..<random.below(5)).map { _ in sizeAnswer() })
            }
            let size = round.isMultiple(of: 2) ? nil : FrameSize(Int(number()), Int(number()))
            let request = CaptureRequest(size.map { .size($0) } ?? .automatic, framesPerSecond: Int(number()))
            let questions = CaptureNegotiation.questions(offers, for: request)
            let pairs = questions.map { ($0, (0..<random.below(4)).map { _ in intervalAnswer() }) }
            let intervals = Dictionary(pairs, uniquingKeysWith: { first, _ in first })
            var (one, other) = (
                CaptureNegotiation(request, offers, intervals: intervals),
                CaptureNegotiation(request, offers, intervals: intervals)
            )
            var (action, same) = (one.start(), other.start())
            var steps = 0
            while case .set(let choice) = action {
                #expect(action == same)
                #expect(choice.format.rank != nil && (choice.interval == nil || choice.interval?.rate != nil))
                let answer = CaptureNegotiation.Answer.set(
                    format: formats[random.below(formats.count)], width: number(), height: number(),
                    interval: Bool.random(using: &random) ? nil : fraction())
                (action, same) = (one.answered(answer), other.answered(answer))
                steps += 1
            }
            #expect(action == same)
            #expect(steps <= CaptureNegotiation.mostAttempts + 1)
        }
    }

    @Test(arguments: [
        ("640x480", "640x480"), ("1x1", "1x1"), ("16384x16384", "16384x16384"), ("auto", "auto"), ("0x480", nil),
        ("640x", nil), ("x480", nil), ("640", nil), ("640x480x2", nil), ("16385x1", nil), ("+640x480", nil),
        ("640X480", nil), ("Auto", nil), ("", nil), ("99999999999999999999x1", nil), ("６４０x480", nil),
    ])
    func `a resolution is auto or two numbers in range`(text: String, read: String?) {
        #expect(CaptureRequest.Resolution(text)?.description == read)
    }

    @Test func `a pixel format is shown as its four characters, or as a number`() {
        #expect(PixelFormat(code: 0x3231_564E).description == "NV12")
        #expect(PixelFormat(code: 0xB231_564E).description == "NV12-BE")
        #expect(PixelFormat(code: 0x2020_3859).description == "Y8")
        #expect(PixelFormat(code: 7).description == "0x7")
        #expect(PixelFormat("Y8")?.code == 0x2020_3859)
        #expect(PixelFormat("NV12")?.rank == 0)
        #expect(PixelFormat("H264")?.rank == nil)
        #expect(PixelFormat("") == nil && PixelFormat("NV12X") == nil && PixelFormat("é") == nil)
    }

    @Test func `a rate is rounded to a thousandth and shown without zeros`() {
        #expect(FrameInterval(1001, 30_000).rate?.description == "29.97")
        #expect(FrameInterval(2, 15).rate?.description == "7.5")
        #expect(FrameInterval(1, 30).rate?.description == "30")
        #expect(FrameInterval(0, 30).rate == nil && FrameInterval(1, 0).rate == nil)
        #expect(FrameInterval(1, 1001).rate == nil && FrameInterval(3000, 1).rate == nil)
    }

    @Test func `a refusal says what the camera has`() {
        #expect(
            CaptureRefusal.noFormat(offered: ["H264", "RGGB"].compactMap { PixelFormat($0) }).description.hasPrefix(
                "it offers only H264, RGGB; accepted: NV12, "))
        #expect(CaptureRefusal.noneAccepted(tried: 2).description.hasPrefix("its driver took none of 2 settings"))
    }
}
