/// Finds a known signal in recordings: which part was heard when, and which was missed.
///
/// Uses the samples alone. It cuts a recording into short frames and compares each with the reference by normalised
/// cross-correlation, first at the expected position, then within a search range. Parts found in no recording are gaps.
package struct ContinuityAnalysis {
    /// A part of a recording that follows the reference without a jump. Times in frames of the common rate.
    package struct Segment: Equatable, Sendable {
        package let source: Int
        /// Range in the recording.
        package var recorded: Range<Int>
        /// Range in the reference.
        package var reference: Range<Int>

        /// How much later than in the reference it is heard.
        fileprivate var delay: Int { recorded.lowerBound - reference.lowerBound }

        /// The part in another range of the recording, with the same delay.
        fileprivate func moved(to recorded: Range<Int>) -> Segment {
            Segment(
                source: source, recorded: recorded,
                reference: recorded.lowerBound - delay..<recorded.upperBound - delay)
        }
    }

    /// A part that was not heard.
    package struct Gap: Equatable, Sendable {
        /// Beginning, in frames of the recordings' common time line.
        package let position: Int
        /// Length in frames.
        package let length: Int
    }

    package let rate: Int
    /// Frames compared at once: 20 ms.
    private let window: Int
    /// Interval between comparisons: 5 ms, the resolution of the result.
    private let hop: Int
    private let search: ClosedRange<Int>
    /// Minimum correlation of a frame with the reference. Coded speech correlates with itself above 0.8, with other speech
    /// below 0.4.
    private let threshold: Float = 0.55

    /// - Parameters:
    ///   - rate: sample rate of all signals in Hz.
    ///   - delay: possible delay of a recording behind its reference in milliseconds; negative when the clocks of reference
    ///     and recording have different zeros.
    package init(rate: Int, delay: ClosedRange<Int>) {
        self.rate = rate
        window = rate / 50
        hop = rate / 200
        search = delay.lowerBound * rate / 1000...delay.upperBound * rate / 1000
    }

    // MARK: Segments

    /// The parts of a recording that follow the reference, in order of time.
    package func segments(of recording: [Int16], source: Int, reference: [Int16]) -> [Segment] {
        let recorded = AnalysedSignal(recording)
        let known = AnalysedSignal(reference)
        var segments: [Segment] = []
        var lag: Int?
        var position = 0
        while position + window <= recorded.count {
            defer { position += hop }
            guard recorded.energy(position, window) > 100 * Float(window) else { continue }
            guard let found = match(recorded, position, known, near: lag) else { continue }
            lag = found
            let start = position - found
            if let last = segments.last,
                (last.recorded.upperBound - last.reference.upperBound - found).magnitude <= rate / 500,
                position <= last.recorded.upperBound
            {
                segments[segments.count - 1].recorded = last.recorded.lowerBound..<position + window
                segments[segments.count - 1].reference = last.reference.lowerBound..<start + window
            } else {
                segments.append(
                    Segment(
                        source: source, recorded: position..<position + window, reference: start..<start + window))
            }
        }
        // Different speech may resemble the reference briefly, but never for long.
        func isCertain(_ segment: Segment) -> Bool { segment.recorded.count >= 6 * window }
        let certain = segments.filter(isCertain)
        let whole = certain.indices.map { index in
            let free = (
                index == 0 ? 0 : certain[index - 1].recorded.upperBound,
                index == certain.count - 1 ? recorded.count : certain[index + 1].recorded.lowerBound
            )
            return trimmed(
                grown(certain[index], within: free.0..<max(free.0, free.1), recorded, known), recorded, known)
        }
        return adding(segments.filter { !isCertain($0) }, to: whole, recorded, known)
    }

    /// Adds short segments that adjoin a certain one and differ from its delay by at most two periods of a voice: a device
    /// that catches up leaves such periods out, also soon after it has begun to play. Where a period was left out, both delays
    /// match for a while.
    private func adding(
        _ short: [Segment], to certain: [Segment], _ recorded: AnalysedSignal, _ known: AnalysedSignal
    ) -> [Segment] {
        func adjoins(_ part: Segment, _ other: Segment) -> Bool {
            let distance = max(
                part.recorded.lowerBound - other.recorded.upperBound,
                other.recorded.lowerBound - part.recorded.upperBound)
            return (0...3 * hop).contains(distance) && (part.delay - other.delay).magnitude <= 2 * window
        }
        // The part of a short segment that is in no other one.
        func rest(_ segment: Segment, beside others: [Segment]) -> Segment? {
            var (lower, upper) = (segment.recorded.lowerBound, segment.recorded.upperBound)
            for other in others.map(\.recorded) where lower < other.upperBound && other.lowerBound < upper {
                if other.lowerBound <= lower { lower = other.upperBound } else { upper = other.lowerBound }
            }
            guard upper - lower >= hop else { return nil }
            return trimmed(segment.moved(to: lower..<upper), recorded, known)
        }
        var found = certain
        var left = short.filter { $0.recorded.count >= 2 * window }
        while let (index, part) = left.indices.lazy.compactMap({ index -> (Int, Segment)? in
            guard let part = rest(left[index], beside: found), found.contains(where: { adjoins(part, $0) }) else {
                return nil
            }
            return (index, part)
        }).first {
            found.append(part)
            left.remove(at: index)
        }
        return found.sorted { $0.recorded.lowerBound < $1.recorded.lowerBound }
    }

    /// Extends a segment at both ends by frames that match the reference at the segment's own delay: a voiced sound is first
    /// found one or two periods away, where it looks equally similar, and was not part of a segment.
    ///
    /// A pause in the speech, in which coding and rounding errors dominate, is skipped when the reference continues after
    /// it.
    private func grown(
        _ segment: Segment, within free: Range<Int>, _ recorded: AnalysedSignal, _ known: AnalysedSignal
    ) -> Segment {
        let lag = segment.delay
        func isReference(_ start: Int) -> Bool {
            recorded.energy(start, window) > 100 * Float(window)
                && correlation(recorded, start, known, start - lag) >= threshold
        }
        let reference = segment.reference
        let pause = pauseShare * known.energy(reference.lowerBound, reference.count) / Float(reference.count)
        func isPause(_ start: Int) -> Bool {
            let frame = start - lag..<start - lag + window
            guard frame.lowerBound >= 0, frame.upperBound <= known.count else { return false }
            return known.energy(frame.lowerBound, window) < pause * Float(window)
        }
        // A frame that overlaps a pause by half matches neither.
        let most = longestPause * rate / 1000 + 2 * window
        func next(_ edge: Int, _ step: Int, _ isFree: (Int) -> Bool) -> Int? {
            var (frame, paused) = (edge + step, false)
            while isFree(frame), (frame - edge).magnitude <= most {
                if isReference(frame) { return (frame - edge).magnitude == hop || paused ? frame : nil }
                paused = paused || isPause(frame)
                frame += step
            }
            return nil
        }
        var (first, last) = (segment.recorded.lowerBound, segment.recorded.upperBound - window)
        while let found = next(first, -hop, { $0 >= free.lowerBound }) { first = found }
        while let found = next(last, hop, { $0 + window <= free.upperBound }) { last = found }
        return segment.moved(to: first..<last + window)
    }

    /// A pause has less than this share of the segment's mean power.
    private let pauseShare: Float = 0.01

    /// Longest pause between words in ms.
    private let longestPause = 200

    /// Lower threshold for a part of 5 ms, which has too few samples for `threshold`; silence and other speech nearly always
    /// stay below it.
    private let partThreshold: Float = 0.35

    /// Removes parts at both ends that do not match the reference: a frame matches as soon as half of it does.
    private func trimmed(_ segment: Segment, _ recorded: AnalysedSignal, _ known: AnalysedSignal) -> Segment {
        let lag = segment.delay
        func isReference(_ start: Int) -> Bool {
            correlation(recorded, start, known, start - lag, length: hop) >= partThreshold
        }
        var (lower, upper) = (segment.recorded.lowerBound, segment.recorded.upperBound)
        // Something is left of a segment, however short it is.
        let most = min(window, max(0, segment.recorded.count / 2 - hop))
        while lower < segment.recorded.lowerBound + most, !isReference(lower) { lower += hop }
        while upper > segment.recorded.upperBound - most, !isReference(upper - hop) { upper -= hop }
        return segment.moved(to: lower..<upper)
    }

    /// Delay of the recording behind the reference at a position; nil when it does not match the reference.
    private func match(_ recorded: AnalysedSignal, _ position: Int, _ known: AnalysedSignal, near lag: Int?) -> Int? {
        if let lag, correlation(recorded, position, known, position - lag) >= threshold { return lag }
        if let lag, let close = best(recorded, position, known, lag - 16...lag + 16, step: 1) { return close }
        // First every third lag: the correlation peak of speech is wide enough.
        guard let coarse = best(recorded, position, known, search, step: 3, least: threshold * 0.6) else { return nil }
        return best(recorded, position, known, coarse - 3...coarse + 3, step: 1)
    }

    private func best(
        _ recorded: AnalysedSignal, _ position: Int, _ known: AnalysedSignal, _ lags: ClosedRange<Int>, step: Int,
        least: Float? = nil
    ) -> Int? {
        var best: (lag: Int, value: Float)?
        for lag in stride(from: lags.lowerBound, through: lags.upperBound, by: step) {
            let value = correlation(recorded, position, known, position - lag)
            if value > best?.value ?? (least ?? threshold) { best = (lag, value) }
        }
        return best?.lag
    }

    private func correlation(
        _ left: AnalysedSignal, _ leftStart: Int, _ right: AnalysedSignal, _ rightStart: Int, length: Int? = nil
    ) -> Float {
        let count = length ?? window
        guard rightStart >= 0, rightStart + count <= right.count else { return 0 }
        let energies = left.energy(leftStart, count) * right.energy(rightStart, count)
        guard energies > 0 else { return 0 }
        return left.product(leftStart, right, rightStart, count) / energies.squareRoot()
    }

    // MARK: Cross-fades

    /// Short holes between two segments of different sources that are a mixture of both, as in a cross-fade, where the
    /// recording matches neither source alone.
    ///
    /// A frame counts as a mixture when both references together, at the delays of the adjacent segments, explain as much of
    /// its energy as a single reference must elsewhere.
    package func mixtures(
        of recording: [Int16], _ segments: [Segment], references: [[Int16]]
    ) -> [Segment] {
        let recorded = recording.map(Float.init)
        let ordered = segments.sorted { $0.recorded.lowerBound < $1.recorded.lowerBound }
        var found: [Segment] = []
        for (before, after) in zip(ordered, ordered.dropFirst()) where before.source != after.source {
            let hole = before.recorded.upperBound..<max(before.recorded.upperBound, after.recorded.lowerBound)
            guard !hole.isEmpty, hole.count <= rate / 10 else { continue }
            let first = references[before.source].map(Float.init)
            let second = references[after.source].map(Float.init)
            for start in stride(from: hole.lowerBound - window / 2, to: hole.upperBound, by: hop)
            where start >= 0 && start + window <= recorded.count {
                let (a, b) = (
                    start - before.recorded.upperBound + before.reference.upperBound,
                    start - after.recorded.lowerBound + after.reference.lowerBound
                )
                guard explained(recorded, start, first, a, second, b) >= threshold * threshold else { continue }
                found.append(
                    Segment(source: before.source, recorded: start..<start + window, reference: a..<a + window))
            }
        }
        return found
    }

    /// Share of a frame's energy explained by the best mixture of two references (least squares in two unknowns).
    private func explained(
        _ recorded: [Float], _ start: Int, _ first: [Float], _ a: Int, _ second: [Float], _ b: Int
    ) -> Float {
        guard a >= 0, b >= 0, a + window <= first.count, b + window <= second.count else { return 0 }
        var (total, aa, bb, ab, ra, rb): (Float, Float, Float, Float, Float, Float) = (0, 0, 0, 0, 0, 0)
        for offset in 0..<window {
            let (r, x, y) = (recorded[start + offset], first[a + offset], second[b + offset])
            total += r * r
            aa += x * x
            bb += y * y
            ab += x * y
            ra += r * x
            rb += r * y
        }
        let determinant = aa * bb - ab * ab
        guard total > 100 * Float(window), determinant > 0 else { return 0 }
        let (u, v) = ((ra * bb - rb * ab) / determinant, (rb * aa - ra * ab) / determinant)
        return (u * ra + v * rb) / total
    }

    // MARK: Resemblance

    /// Removes segments that another source explains better: one voice can resemble another for a fraction of a second, and
    /// both are found then.
    ///
    /// A segment is dropped when a longer one of another source covers more than half of its time.
    package static func withoutResemblance(_ segments: [Segment]) -> [Segment] {
        segments.filter { segment in
            !segments.contains { other in
                other.source != segment.source && other.recorded.count > segment.recorded.count
                    && 2 * other.recorded.clamped(to: segment.recorded).count > segment.recorded.count
            }
        }
    }

    // MARK: Gaps

    /// Parts that were heard in none of the recordings, between the first and the last segment.
    ///
    /// Two kinds count: a part of the reference that nobody heard, and a time in which nobody heard anything. An event found
    /// in both ways is reported once, with its greater length. Gaps up to 15 ms are within the resolution (5 ms at each end,
    /// and what a fade makes unrecognisable) and are left out.
    package func gaps(_ segments: [Segment]) -> [Gap] {
        let missed = holes(segments.map(\.reference)).map { hole in
            Gap(position: place(ofReference: hole.lowerBound, segments), length: hole.count)
        }
        let silent = holes(segments.map(\.recorded)).map { Gap(position: $0.lowerBound, length: $0.count) }
        var gaps: [Gap] = []
        for gap in (missed + silent).sorted(by: { $0.position < $1.position }) {
            if let last = gaps.last, gap.position - last.position <= rate / 2 {
                gaps[gaps.count - 1] = Gap(position: last.position, length: max(last.length, gap.length))
            } else {
                gaps.append(gap)
            }
        }
        return gaps
    }

    private func holes(_ ranges: [Range<Int>]) -> [Range<Int>] {
        var holes: [Range<Int>] = []
        var end: Int?
        for range in ranges.sorted(by: { $0.lowerBound < $1.lowerBound }) {
            if let end, range.lowerBound - end > 3 * hop { holes.append(end..<range.lowerBound) }
            end = max(end ?? range.upperBound, range.upperBound)
        }
        return holes
    }

    /// Time at which the last part before a missing part of the reference was heard.
    private func place(ofReference position: Int, _ segments: [Segment]) -> Int {
        let before = segments.filter { $0.reference.upperBound <= position + hop }
        return before.max { $0.reference.upperBound < $1.reference.upperBound }?.recorded.upperBound ?? position
    }
}
