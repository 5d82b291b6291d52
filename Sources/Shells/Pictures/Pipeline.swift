import CPictures
import ControlLoop
import Glibc
import Synchronization
package import VideoPlan

/// GStreamer as a whole.
package enum GStreamer {
    /// Held while it is loaded: the library may not be loaded by two threads.
    private static let loading = Mutex<Void>(())
    private static let longestReason = 512

    /// Sets what GStreamer reads from the environment. For `main`: after the arguments are read, before the first thread.
    package static func prepare() { btcall_gstreamer_prepare() }

    /// Loads GStreamer, once. Blocks: the first time on a machine it looks at all plug-ins, which takes seconds.
    static func load() throws(PictureError) {
        let reason = loading.withLock { _ in
            text { btcall_gstreamer_load($0, $1) == 0 }
        }
        if let reason { throw .failed("GStreamer: \(reason)") }
    }

    /// Checks that elements are installed; blocks like `load`.
    ///
    /// - Throws: the first that is not.
    package static func check(_ elements: [PipelinePlan.Element]) throws(PictureError) {
        try load()
        for element in elements where btcall_gstreamer_has(element.name) == 0 { throw .missing(element) }
    }

    /// The same beside the control plane.
    @ControlPlane
    package static func require(_ elements: [PipelinePlan.Element]) async throws(PictureError) {
        let outcome = await beside { () throws(PictureError) in try check(elements) }
        try outcome.get()
    }

    /// Does what may block in a thread of its own.
    @ControlPlane
    static func beside<Value: Sendable>(
        _ work: @escaping @Sendable () throws(PictureError) -> Value
    ) async -> Result<Value, PictureError> {
        let run: @Sendable () -> Result<Value, PictureError> = {
            do throws(PictureError) {
                return .success(try work())
            } catch {
                return .failure(error)
            }
        }
        return await withCheckedContinuation { continuation in
            if !ControlLoop.runBeside("btcall-picture", run, then: { continuation.resume(returning: $0) }) {
                continuation.resume(returning: run())
            }
        }
    }

    /// The reason that a function of C gives; nil if it succeeded.
    static func text(_ body: (UnsafeMutablePointer<CChar>, Int) -> Bool) -> String? {
        withUnsafeTemporaryAllocation(of: CChar.self, capacity: longestReason) { buffer in
            guard let base = buffer.baseAddress else { return "no memory" }
            base.initialize(repeating: 0, count: longestReason)
            return body(base, longestReason) ? nil : String(cString: base)
        }
    }
}

/// A running pipeline of GStreamer. Any thread may use it; starting and stopping may block on devices.
///
/// Its handlers are called on its own threads. They may hold nothing that holds the pipeline: its last reference must not go
/// on a thread of its own.
package final class Pipeline: Sendable {
    package typealias Handler = @Sendable (Picture) -> Void

    private final class Handlers: Sendable {
        let picture: Handler?
        let failure: @Sendable (String) -> Void

        init(_ picture: Handler?, _ failure: @escaping @Sendable (String) -> Void) {
            self.picture = picture
            self.failure = failure
        }
    }

    private nonisolated(unsafe) let handle: OpaquePointer
    /// The open node of the plan's display; -1 without one.
    private let displayCard: Int32

    /// Makes a pipeline and starts it. Blocks.
    ///
    /// - Parameters:
    ///   - picture: gets the pictures that arrive at the output.
    ///   - failure: called once at most, when it fails later.
    package static func start(
        _ plan: PipelinePlan, picture: Handler? = nil, failure: @escaping @Sendable (String) -> Void = { _ in }
    ) throws(PictureError) -> Pipeline {
        let pipeline = try Pipeline(plan, Handlers(picture, failure))
        let reason = GStreamer.text { btcall_pipeline_start(pipeline.handle, $0, $1) == 0 }
        if let reason { throw .failed(reason) }
        return pipeline
    }

    private init(_ plan: PipelinePlan, _ handlers: Handlers) throws(PictureError) {
        try GStreamer.check(plan.needs)
        var made: OpaquePointer?
        let reason = GStreamer.text { buffer, size in
            made = btcall_pipeline_parse(plan.description, Self.events(handlers), buffer, size)
            return made != nil
        }
        guard let made else { throw .failed(reason ?? "no memory") }
        do throws(PictureError) {
            displayCard = try Self.open(plan.displayCard)
        } catch {
            btcall_pipeline_free(made)
            throw error
        }
        handle = made
        // Only a pipeline without that element refuses a property: tests put others in its place.
        for property in plan.properties {
            _ = btcall_pipeline_set_text(handle, property.element, property.name, property.text)
        }
        if displayCard >= 0 { _ = btcall_pipeline_set_number(handle, "sink", "fd", Int64(displayCard)) }
    }

    deinit {
        btcall_pipeline_free(handle)
        if displayCard >= 0 { close(displayCard) }
    }

    private static func open(_ path: String?) throws(PictureError) -> Int32 {
        guard let path else { return -1 }
        do throws(SystemError) {
            return try SystemError.check("open") { Glibc.open(path, O_RDWR | O_CLOEXEC | O_NOCTTY) }
        } catch {
            throw .system(error, path: path)
        }
    }

    private static func events(_ handlers: Handlers) -> btcall_pipeline_events {
        var events = btcall_pipeline_events()
        events.context = Unmanaged.passRetained(handlers).toOpaque()
        if handlers.picture != nil {
            events.picture = { context, picture in
                guard let context, let picture else { return }
                let handlers = Unmanaged<Handlers>.fromOpaque(context).takeUnretainedValue()
                handlers.picture?(Picture(taking: btcall_picture_retain(picture)))
            }
        }
        events.failed = { context, reason in
            guard let context, let reason else { return }
            Unmanaged<Handlers>.fromOpaque(context).takeUnretainedValue().failure(String(cString: reason))
        }
        events.released = { context in
            if let context { Unmanaged<Handlers>.fromOpaque(context).release() }
        }
        return events
    }

    /// Gives a picture to an input, which drops the oldest one if it has too many. Never waits.
    func give(_ picture: Picture, to input: String) {
        // A pipeline that has stopped takes none.
        _ = btcall_pipeline_push(handle, input, picture.handle)
    }

    /// Stops it, and returns when no handler runs any more. Blocks.
    package func stop() { btcall_pipeline_stop(handle) }

    // MARK: One picture

    /// The one picture of a pipeline. Blocks.
    ///
    /// - Parameter file: bytes for its input.
    static func picture(
        of plan: PipelinePlan, file: [UInt8]? = nil, within limit: Duration = .seconds(5)
    ) throws(PictureError) -> Picture {
        let failure = FirstFailure()
        let pipeline = try start(plan, failure: { failure.note($0) })
        if let file {
            _ = file.withUnsafeBytes {
                btcall_pipeline_push_all(pipeline.handle, PipelinePlan.input, $0.baseAddress, $0.count)
            }
        }
        let milliseconds = UInt32(clamping: limit.components.seconds * 1000)
        let picture = btcall_pipeline_pull(pipeline.handle, milliseconds)
        pipeline.stop()
        guard let picture else { throw .failed(failure.reason ?? "no picture has come") }
        return Picture(taking: picture)
    }

    private final class FirstFailure: Sendable {
        private let stored = Mutex<String?>(nil)

        func note(_ reason: String) { stored.withLock { $0 = $0 ?? reason } }
        var reason: String? { stored.withLock { $0 } }
    }
}

/// An input of a pipeline, for pictures of one size.
final class PipelineInput: PictureTaker {
    private let pipeline: Pipeline
    private let name: String
    private let width: Int
    private let height: Int

    /// - Parameter view: has the input's name and the size of its pictures.
    init(_ pipeline: Pipeline, _ view: PlannedView) {
        self.pipeline = pipeline
        name = view.input
        (width, height) = (view.format.width, view.format.height)
    }

    func take(_ picture: Picture) {
        // Its caps say the size; another picture comes while it is about to be replaced.
        guard picture.width == width, picture.height == height else { return }
        pipeline.give(picture, to: name)
    }
}
