import BTCallAPI
import DBus

// The pictures of a call as frames in shared memory.
extension BridgeVideo {
    /// Opens the frames of the picture that the far end of a call gets: the camera, or the card.
    ///
    /// - Parameter call: nil: the camera of the box without a call, which is captured for this view.
    /// - Throws: `.noSuchCall`; `.limitExceeded` with 8 views and offers of this program, or 32 of all; `.notSupported`.
    public func localBufferView(call: Call.ID? = nil) async throws(BridgeError) -> BufferView {
        try await bufferView("local", of: call)
    }

    /// Closes a view of the local picture: ``BufferView/close()``.
    public func removeLocalBufferView(_ view: BufferView) async { await view.close() }

    /// Opens the frames of the far end's picture.
    ///
    /// - Throws: as ``localBufferView(call:)``; `.unavailable` while nobody gives a picture of the far end.
    public func remoteBufferView(call: Call.ID) async throws(BridgeError) -> BufferView {
        try await bufferView("remote", of: call)
    }

    /// Closes a view of the far end's picture: ``BufferView/close()``.
    public func removeBufferView(_ view: BufferView) async { await view.close() }

    /// Offers the picture of the far end, for the application that receives it: btcall-video does not.
    ///
    /// - Parameters:
    ///   - width: 16…4096 pixels, even; as `height`.
    ///   - framesPerSecond: 1…120.
    /// - Throws: `.invalidArgument`, `.noSuchCall`, `.limitExceeded` as ``localBufferView(call:)``; `.wrongState` for a call
    ///   whose far end has a picture already.
    public func offerRemote(
        call: Call.ID, width: Int, height: Int, framesPerSecond: Int
    ) async throws(BridgeError) -> RemotePictureWriter {
        let numbers = [width, height, framesPerSecond].map { Value.uint32(UInt32(clamping: $0)) }
        let answer = try await connection.requestVideo(
            BTCallName.Interface.video, BTCallName.Video.offerRemote, [.objectPath(call.path)] + numbers)
        return try RemotePictureWriter(answer, of: call, on: connection)
    }

    private func bufferView(_ side: String, of call: Call.ID?) async throws(BridgeError) -> BufferView {
        let answer = try await connection.requestVideo(
            BTCallName.Interface.video, BTCallName.Video.openTap, [.objectPath(call?.path ?? "/"), .string(side)])
        return try await BufferView(answer, of: call, on: connection)
    }
}
