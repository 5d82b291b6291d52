import Foundation

/// Draws a demonstration: routes over time, the playback of each device and of the far end, and the gaps.
package enum TimelineDrawing {
    private static let width = 1000.0
    private static let left = 130.0
    private static let rowHeight = 64.0
    private static let colours = ["#2f6f4f", "#2456a6", "#a04a1c", "#6b3fa0"]

    /// - Returns: a stand-alone SVG document.
    package static func svg(
        _ recordings: DemoRecordings, _ report: DemoReport, routes: [(at: Double, device: String, reason: String)]
    ) -> String {
        let rate = Double(DemoRecordings.rate)
        let end =
            (recordings.devices.map { Double($0.played.count) / rate } + [recordings.steps.last?.at ?? 1]).max() ?? 1
        func x(_ seconds: Double) -> Double { left + min(max(seconds / end, 0), 1) * (width - left - 20) }
        var rows: [String] = []
        var y = 70.0
        for (index, device) in recordings.devices.enumerated() {
            let colour = colours[index % colours.count]
            rows.append(label(device.name, y, "what it played"))
            for stretch in report.played where stretch.device == device.name {
                rows.append(band(x(stretch.from), x(stretch.to), y, colour))
            }
            rows.append(wave(device.played, offset: 0, y, colour, x))
            y += rowHeight
        }
        rows.append(label("far end", y, "what it heard"))
        for stretch in report.heard {
            let index = recordings.devices.firstIndex { $0.name == stretch.device } ?? 0
            rows.append(band(x(stretch.from), x(stretch.to), y, colours[index % colours.count]))
        }
        rows.append(wave(recordings.farEndHeard, offset: recordings.farEndStart, y, "#444444", x))
        y += rowHeight
        rows.append(label("route", y, "as announced"))
        rows.append(contentsOf: routeRow(routes, end, y, recordings, x))
        y += 40
        let marks = report.steps.map { step in
            """
            <line x1="\(number(x(step.at)))" y1="34" x2="\(number(x(step.at)))" y2="\(number(y))" stroke="#999" \
            stroke-dasharray="4 3"/>
            <text x="\(number(x(step.at) + 4))" y="\(step.number % 2 == 1 ? 36 : 46)" class="s">\(step.number). \(escape(step.title))</text>
            <text x="\(number(x(step.at) + 4))" y="58" class="g">gap \(step.downlinkGapMs) ms down, \
            \(step.uplinkGapMs) ms up (limit \(step.limitMs))</text>
            """
        }
        let verdict =
            switch report.verdict {
            case .passed: "nothing was lost beyond the limits"
            case .lost: "SOMETHING WAS LOST: see report.json"
            case .tooBusy: "THE MACHINE WAS TOO BUSY TO MEASURE"
            }
        return """
            <svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 \(Int(width)) \(Int(y + 30))" font-family="sans-serif">
            <style>.l{font-size:13px;font-weight:bold}.n{font-size:10px;fill:#666}.s{font-size:10px;font-weight:bold}\
            .g{font-size:9px;fill:#444}.t{font-size:9px;fill:#666}</style>
            <rect width="100%" height="100%" fill="white"/>
            <text x="10" y="20" class="l">btcall-lab demo: one call, four steps; \(verdict)</text>
            \(rows.joined(separator: "\n"))
            \(marks.joined(separator: "\n"))
            \(axis(end, y, x))
            </svg>

            """
    }

    private static func label(_ name: String, _ y: Double, _ note: String) -> String {
        """
        <text x="10" y="\(number(y + 24))" class="l">\(escape(name))</text>
        <text x="10" y="\(number(y + 38))" class="n">\(escape(note))</text>
        """
    }

    private static func band(_ from: Double, _ to: Double, _ y: Double, _ colour: String) -> String {
        """
        <rect x="\(number(from))" y="\(number(y + 4))" width="\(number(max(0.5, to - from)))" \
        height="\(number(rowHeight - 12))" fill="\(colour)" opacity="0.15"/>
        """
    }

    /// The envelope, one peak for each 0.2 s.
    private static func wave(
        _ samples: [Int16], offset: Double, _ y: Double, _ colour: String, _ x: (Double) -> Double
    ) -> String {
        let block = DemoRecordings.rate / 20
        var upper: [String] = []
        var lower: [String] = []
        for start in stride(from: 0, to: samples.count, by: block) {
            let peak = samples[start..<min(start + block, samples.count)].reduce(0) { max($0, Int($1.magnitude)) }
            let height = Double(peak) / 32768 * (rowHeight / 2 - 8)
            let place = number(x(Double(start) / Double(DemoRecordings.rate) + offset))
            upper.append("\(place),\(number(y + rowHeight / 2 - 2 - height))")
            lower.append("\(place),\(number(y + rowHeight / 2 - 2 + height))")
        }
        return """
            <polygon points="\((upper + lower.reversed()).joined(separator: " "))" fill="\(colour)" opacity="0.75"/>
            """
    }

    private static func routeRow(
        _ routes: [(at: Double, device: String, reason: String)], _ end: Double, _ y: Double,
        _ recordings: DemoRecordings, _ x: (Double) -> Double
    ) -> [String] {
        routes.enumerated().map { index, route in
            let to = routes.indices.contains(index + 1) ? routes[index + 1].at : end
            let device = recordings.devices.firstIndex { $0.name == route.device }
            let colour = device.map { colours[$0 % colours.count] } ?? "#bbbbbb"
            let text = x(to) - x(route.at) > 60 ? "\(route.device): \(route.reason)" : ""
            return """
                <rect x="\(number(x(route.at)))" y="\(number(y + 8))" width="\(number(max(0.5, x(to) - x(route.at))))" \
                height="18" fill="\(colour)"/>
                <text x="\(number(x(route.at) + 3))" y="\(number(y + 20))" class="t" \
                style="fill:white">\(escape(text))</text>
                """
        }
    }

    private static func axis(_ end: Double, _ y: Double, _ x: (Double) -> Double) -> String {
        stride(from: 0.0, through: end, by: end > 20 ? 5 : 2).map { second in
            """
            <line x1="\(number(x(second)))" y1="\(number(y))" x2="\(number(x(second)))" y2="\(number(y + 5))" stroke="#666"/>
            <text x="\(number(x(second) - 6))" y="\(number(y + 17))" class="t">\(Int(second)) s</text>
            """
        }.joined(separator: "\n")
    }

    private static func number(_ value: Double) -> String { String(format: "%.1f", value) }

    private static func escape(_ text: String) -> String {
        text.replacing("&", with: "&amp;").replacing("<", with: "&lt;").replacing(">", with: "&gt;")
    }
}
