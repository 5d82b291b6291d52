package import Cameras
package import ControlLoop
import Glibc
package import VideoCapture

/// Cameras without a kernel: what each driver answers is a text of `DriverAnswers`.
@ControlPlane
package final class FakeCameras: CameraSystem {
    package var onChange: (@ControlPlane () -> Void)?
    /// In the order of their nodes.
    package private(set) var present: [(camera: Camera, answers: DriverAnswers)] = []
    /// Failure of every `open`, as an error number; 0: none.
    package var openFailure: Int32 = 0
    /// Error number with which drivers refuse settings; 0: they accept them.
    package var setFailure: Int32 = 0
    /// Programs that capture.
    package var programs: [String] = []
    /// What a driver makes of a setting.
    package var manner: @ControlPlane (CaptureChoice) -> CaptureNegotiation.Answer = FakeCameras.honest
    package private(set) var openDrivers = 0
    package private(set) var opened: [String] = []
    package private(set) var settings: [CaptureChoice] = []
    package private(set) var isWatched = false
    /// Answers that drivers gave about formats, sizes and intervals.
    package private(set) var answered = 0

    package init() {}

    /// Plugs a camera in.
    ///
    /// - Parameter answers: as `DriverAnswers` reads them.
    package func add(_ camera: Camera, _ answers: String) throws {
        present.append((camera, try DriverAnswers(answers)))
        onChange?()
    }

    /// Pulls a camera.
    package func remove(_ id: String) {
        present.removeAll { $0.camera.id == id }
        onChange?()
    }

    package func cameras() -> [Camera] { present.map(\.camera) }

    package func users(of camera: Camera) -> [String] { programs }

    package func watch() throws(SystemError) { isWatched = true }

    package func stop() { isWatched = false }

    package func open(_ camera: Camera) throws(SystemError) -> any CameraDriver {
        if openFailure != 0 { throw SystemError(call: "open", code: openFailure) }
        guard camera.isPermitted else { throw SystemError(call: "open", code: EACCES) }
        guard let answers = present.first(where: { $0.camera == camera })?.answers else {
            throw SystemError(call: "open", code: ENODEV)
        }
        openDrivers += 1
        opened.append(camera.id)
        return Driver(self, answers)
    }

    package static func honest(_ choice: CaptureChoice) -> CaptureNegotiation.Answer {
        .set(
            format: choice.format, width: UInt32(choice.size.width), height: UInt32(choice.size.height),
            interval: choice.interval)
    }

    @ControlPlane
    private final class Driver: CameraDriver {
        private let cameras: FakeCameras
        private let answers: DriverAnswers
        private var isOpen = true

        init(_ cameras: FakeCameras, _ answers: DriverAnswers) {
            self.cameras = cameras
            self.answers = answers
        }

        func format(_ index: Int) -> PixelFormat? { answer(answers.offers, index)?.format }

        func size(_ format: PixelFormat, _ index: Int) -> SizeAnswer? {
            answer(answers.offers.first { $0.format == format }?.sizes ?? [], index)
        }

        func interval(_ question: CaptureQuestion, _ index: Int) -> IntervalAnswer? {
            answer(answers.intervals(of: question), index)
        }

        private func answer<Answer>(_ list: [Answer], _ index: Int) -> Answer? {
            cameras.answered += 1
            return list.indices.contains(index) ? list[index] : nil
        }

        func set(_ choice: CaptureChoice) throws(SystemError) -> CaptureNegotiation.Answer {
            if isBusy { throw SystemError(call: "VIDIOC_S_FMT", code: EBUSY) }
            if cameras.setFailure != 0 { throw SystemError(call: "VIDIOC_S_FMT", code: cameras.setFailure) }
            cameras.settings.append(choice)
            return cameras.manner(choice)
        }

        var isBusy: Bool { !cameras.programs.isEmpty }

        func close() {
            guard isOpen else { return }
            isOpen = false
            cameras.openDrivers -= 1
        }
    }
}
