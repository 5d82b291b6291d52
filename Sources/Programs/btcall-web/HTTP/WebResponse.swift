import ControlLoop
import JSONText

/// One answer with its whole body.
struct WebResponse: Sendable {
    var status: Int
    /// Fields besides `Content-Length` and `Date`.
    var headers: [(name: String, value: String)]
    var body: [UInt8]

    init(_ status: Int, _ json: JSON) {
        self.init(status, type: "application/json", Array(json.text().utf8) + [UInt8(ascii: "\n")])
    }

    init(_ status: Int, type: String, _ body: [UInt8]) {
        self.status = status
        headers = [("Content-Type", type), ("Cache-Control", "no-store"), ("X-Content-Type-Options", "nosniff")]
        self.body = body
    }

    /// Without a body.
    init(_ status: Int) {
        self.status = status
        headers = []
        body = []
    }

    init(_ error: WebError) {
        self.init(error.status, error.json)
        headers += error.headers
    }
}

/// What a request gets.
enum WebAnswer: Sendable {
    case response(WebResponse)
    /// A body that goes on until one side ends it.
    /// - start: called once the head is sent.
    case stream(headers: [(name: String, value: String)], start: @Sendable @ControlPlane (WebOutlet) -> Void)
}
