/// The delay among `delays`, in frames, with which `output` follows the frames `range` of `input`: where their product is greatest.
///
/// Here because the tests' own modules are not optimized, and an emulated processor would search for minutes.
package func delay(
    of output: [Int16], after input: [Int16], in range: Range<Int>, among delays: some Sequence<Int>
) -> Int {
    var best = (likeness: 0.0, delay: Int.max)
    for delay in delays {
        var product = 0.0
        for index in range { product += Double(input[index]) * Double(output[index + delay]) }
        if product > best.likeness { best = (product, delay) }
    }
    return best.delay
}
