import Foundation
import TestSupport
import Testing

@testable import btcall_video

/// Front and back camera of known boards.
@Suite struct BoardCamerasTests {
    private static let boards = """
        # a comment
        [board door-2]
        model = Example Door 2*|Example Gate
        card = Door
        camera.front = csi-video-index0
        [board door]
        model = Example Door*
        camera.front = usb-1-video-index0
        camera.back = /dev/video2
        note = the second board adds what the first one lacks
        [board any]
        camera.back = usb-9-video-index0
        """

    @Test(arguments: [
        ("Example Door 2 Rev 1", "csi-video-index0", "/dev/video2"), ("Example Gate", "csi-video-index0", nil),
        ("Example Door 1", "usb-1-video-index0", "/dev/video2"), ("Another Example Door 1", nil, nil), ("", nil, nil),
    ])
    func `S2.27 a board is found by its model`(model: String, front: String?, back: String?) {
        #expect(BoardCameras.names(in: Self.boards, model: model) == CameraNames(front: front, back: back))
    }

    @Test func `lines that are none, and names that are none, change nothing`() {
        let text = "camera.front = x\n[board a]\r\nmodel = A\r\n;camera.front = y\ncamera.back = a b\ncamera\n= z\n"
        #expect(BoardCameras.names(in: text, model: "A") == CameraNames())
    }

    @Test func `the configuration counts before the board`() {
        var names = CameraNames(front: "usb-2-video-index0")
        names.complete(with: CameraNames(front: "csi-video-index0", back: "/dev/video2"))
        #expect(names == CameraNames(front: "usb-2-video-index0", back: "/dev/video2"))
    }

    @Test func `the model is read from the device tree, and otherwise from the BIOS`() throws {
        let root = FileManager.default.temporaryDirectory.appending(path: "btcall-boards-\(UUID().uuidString)")
        defer { try? FileManager.default.removeItem(at: root) }  // It may stay.
        func write(_ text: String, _ path: String) throws {
            let file = root.appending(path: path)
            try FileManager.default.createDirectory(
                at: file.deletingLastPathComponent(), withIntermediateDirectories: true)
            try Data(text.utf8).write(to: file)
        }
        let path = root.path(percentEncoded: false)
        #expect(BoardCameras.names(root: path) == CameraNames())
        try write(Self.boards, "usr/share/btcall/boards.conf")
        #expect(BoardCameras.names(root: path) == CameraNames())
        try write("Example Gate\n", "sys/class/dmi/id/product_name")
        #expect(BoardCameras.names(root: path).front == "csi-video-index0")
        try write("Example Door 1\0", "sys/firmware/devicetree/base/model")
        #expect(BoardCameras.names(root: path).front == "usb-1-video-index0")
    }
}
