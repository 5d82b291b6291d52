/// Somebody who gets every frame of a picture.
package protocol FrameConsumer: AnyObject, Sendable {
    /// Takes a frame. Called on any thread, for one frame at a time; does not wait for anybody.
    ///
    /// - Parameters:
    ///   - bytes: I420 without padding, valid until this returns.
    ///   - nanoseconds: CLOCK_MONOTONIC of the picture.
    ///   - isCard: a card instead of the camera's picture.
    func take(_ bytes: UnsafeRawBufferPointer, at nanoseconds: UInt64, isCard: Bool)
    /// No frame will come.
    func end()
}
