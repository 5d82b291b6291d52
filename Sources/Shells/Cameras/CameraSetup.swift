package import ControlLoop
import Glibc
package import VideoCapture

/// Sets cameras: asks a driver what it offers, and carries out what `CaptureNegotiation` decides.
@ControlPlane
package struct CameraSetup {
    private let system: any CameraSystem

    package init(_ system: any CameraSystem) {
        self.system = system
    }

    /// Opens a camera, sets it, and closes it again: drivers keep the setting.
    package func set(_ camera: Camera, to request: CaptureRequest) throws(CameraError) -> CaptureSettings {
        let driver = try open(camera)
        defer { driver.close() }
        let action: CaptureNegotiation.Action
        do throws(SystemError) {
            action = try Self.negotiate(driver, request)
        } catch {
            throw self.error(error, camera)
        }
        switch action {
        case .reached(let settings): return settings
        case .refused(let refusal): throw .refused(refusal)
        case .set(let choice): throw .failed("the driver was not asked for \(choice.size)")
        }
    }

    /// Whether a camera can be used now.
    ///
    /// - Throws: why not.
    package func check(_ camera: Camera) throws(CameraError) {
        let driver = try open(camera)
        defer { driver.close() }
        if driver.isBusy { throw .busy(by: system.users(of: camera)) }
    }

    private func open(_ camera: Camera) throws(CameraError) -> any CameraDriver {
        do throws(SystemError) {
            return try system.open(camera)
        } catch {
            throw self.error(error, camera)
        }
    }

    private func error(_ error: SystemError, _ camera: Camera) -> CameraError {
        switch error.code {
        case ENOENT, ENODEV, ENXIO, ENOTTY: .missing(camera.id)
        case EACCES, EPERM: .denied(path: camera.path)
        case EBUSY: .busy(by: system.users(of: camera))
        default: .failed("\(camera.path): \(error); see `dmesg`")
        }
    }

    private static func negotiate(
        _ driver: any CameraDriver, _ request: CaptureRequest
    ) throws(SystemError) -> CaptureNegotiation.Action {
        let formats = list(CaptureNegotiation.mostFormats) { driver.format($0) }
        var seen: Set<PixelFormat> = []
        let offers = formats.filter { seen.insert($0).inserted }.map { format in
            let isUsable = format.rank != nil
            let sizes = isUsable ? list(CaptureNegotiation.mostSizes) { driver.size(format, $0) } : []
            return FormatOffer(format, sizes: sizes)
        }
        var intervals: [CaptureQuestion: [IntervalAnswer]] = [:]
        for question in CaptureNegotiation.questions(offers, for: request) {
            intervals[question] = list(CaptureNegotiation.mostIntervals) { driver.interval(question, $0) }
        }
        var negotiation = CaptureNegotiation(request, offers, intervals: intervals)
        var action = negotiation.start()
        while case .set(let choice) = action { action = negotiation.answered(try driver.set(choice)) }
        return action
    }

    /// Answers until the driver has no more, or as many as are read.
    private static func list<Answer>(_ most: Int, _ answer: (Int) -> Answer?) -> [Answer] {
        var answers: [Answer] = []
        while answers.count < most, let next = answer(answers.count) { answers.append(next) }
        return answers
    }
}
