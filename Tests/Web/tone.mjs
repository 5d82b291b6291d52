// How much of a recording is a tone, as Tests/Lab/analyse.py counts it.

import { readFileSync } from 'node:fs'

/** Windows of `toneShares` in a second. */
export const windowsPerSecond = 8

/**
 * The share of the energy at a frequency, of each window of 1/8 s: 1 is the tone alone, 0 silence.
 * @param {ArrayLike<number>} samples -1 to 1
 * @returns {number[]}
 */
export function toneShares(samples, rate, hz) {
  const size = Math.floor(rate / windowsPerSecond)
  const step = 2 * Math.PI * hz / rate
  const shares = []
  for (let begin = 0; begin + size <= samples.length; begin += size) {
    let [real, imaginary, energy] = [0, 0, 0]
    for (let index = 0; index < size; index++) {
      const sample = samples[begin + index]
      real += sample * Math.cos(step * index)
      imaginary += sample * Math.sin(step * index)
      energy += sample * sample
    }
    shares.push(energy > size * 1e-8 ? 2 * (real * real + imaginary * imaginary) / (size * energy) : 0)
  }
  return shares
}

export const mean = (numbers) => numbers.reduce((sum, number) => sum + number, 0) / numbers.length

/** Samples of 16 bits as -1 to 1. */
export const fromBytes = (bytes) => Float32Array.from({ length: bytes.length >> 1 }, (_, index) => bytes.readInt16LE(2 * index) / 32768)

/** A WAV file of one channel, as `btcall-lab sandbox --record` writes it. */
export function readWave(path) {
  const bytes = readFileSync(path)
  return { rate: bytes.readUInt32LE(24), samples: fromBytes(bytes.subarray(44)) }
}
