// A box for a browser: `btcall-lab sandbox`, which is the daemon's code with simulated headsets on a bus of its own, and the real
// btcall-web in front of it. Programs are those of .build/debug, or of $BTCALL_BIN.

import { execFileSync, spawn } from 'node:child_process'
import { closeSync, mkdtempSync, openSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { randomBytes } from 'node:crypto'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'

const root = fileURLToPath(new URL('../../', import.meta.url))
const programs = process.env.BTCALL_BIN ?? join(root, '.build/debug')

/** A limit that was missed while a process could not run for so many milliseconds says more about the machine than about btcall. */
export const stalled = 100
/** After so many of them the daemon takes a headset that could not run for one whose link is silent. */
const silencing = 300

export const pause = (milliseconds) => new Promise((resolve) => setTimeout(resolve, milliseconds))

/** Waits for a value that is not null, undefined or false. */
export async function eventually(what, value, milliseconds = 30_000) {
  const begin = performance.now()
  for (;;) {
    const found = await value()
    if (found) return found
    if (performance.now() - begin > milliseconds) throw new Error(`not within ${milliseconds} ms: ${typeof what === 'function' ? what() : what}`)
    await pause(20)
  }
}

export class Box {
  /** What the sandbox printed. */
  lines = []
  /** Changes of the route as dbus-monitor received them: `at` in milliseconds of the clock, `device`, `reason`. */
  signals = []
  /** Times in which this process could not run: `at` their end, `milliseconds`. */
  stalls = []
  #children = []
  #read = 0
  #timer

  /**
   * @param {(folder: string) => string[]} more arguments of the sandbox, for the folder of this box
   * @param {boolean} hasPCM whether programs on the ALSA PCM find this box: see `environment`
   */
  static async start(more = () => [], hasPCM = false) {
    const box = new Box()
    box.folder = mkdtempSync(join(tmpdir(), 'btcall-box-'))
    box.#watch()
    try {
      if (hasPCM) box.#preparePCM()
      await box.#startSandbox([...more(box.folder), ...(hasPCM ? ['--pcm', box.environment.BTCALL_PCM_SOCKET] : [])])
      await box.#startMonitor()
      await box.#startWeb()
    } catch (error) {
      await box.stop()
      throw error
    }
    return box
  }

  /** A file of this box. */
  path(name) { return join(this.folder, name) }

  /** @returns {import('node:child_process').ChildProcess} with its errors in NAME.log */
  #begin(name, command, more, input = 'ignore') {
    const log = openSync(this.path(`${name}.log`), 'w')
    const child = spawn(command, more, { stdio: [input, 'pipe', log], env: { ...process.env, ...this.environment } })
    closeSync(log)
    child.on('error', (error) => this.lines.push(`${name} does not start: ${error.message}`))
    child.gone = new Promise((resolve) => child.once('close', resolve))
    this.#children.push(child)
    return child
  }

  #log(name) { return readFileSync(this.path(`${name}.log`), 'utf8') }

  async #startSandbox(more) {
    this.sandbox = this.#begin('sandbox', join(programs, 'btcall-lab'), ['sandbox', '--color', 'never', ...more], 'pipe')
    createInterface(this.sandbox.stdout).on('line', (line) => this.lines.push(line))
    this.bus = (await this.story(/^--bus (\S+)/))[1]
    await this.story(/^keys: /)
  }

  /** Another program than those of this repository says when a signal came. */
  async #startMonitor() {
    const monitor = this.#begin('monitor', 'dbus-monitor', ['--address', this.bus, `type='signal',interface='org.btcall.Router1',member='RouteChanged'`])
    let at = null
    let words = []
    let isReady = false
    createInterface(monitor.stdout).on('line', (line) => {
      isReady = true
      const time = /^signal time=([\d.]+) /.exec(line)?.[1]
      if (time) [at, words] = [/member=RouteChanged$/.test(line) ? Number(time) * 1000 : null, []]
      const word = /^ +string "(.*)"$/.exec(line)?.[1]
      if (at === null || word === undefined) return
      words.push(word)
      if (words.length === 3) this.signals.push({ at, device: words[1], reason: words[2] })
    })
    await eventually(() => `dbus-monitor: ${this.#log('monitor')}`, () => isReady)
  }

  async #startWeb() {
    const secret = this.path('secret')
    writeFileSync(secret, randomBytes(48).toString('base64'), { mode: 0o600 })
    writeFileSync(this.path('web.conf'), [
      '[web]', `files = ${root}web`, `pages = ${root}Examples/kiosk`,
      '[tokens]', `secret = ${secret}`, `publicKeys = ${this.path('keys')}`, `pushSecret = ${secret}`, '',
    ].join('\n'))
    this.#begin('web', join(programs, 'btcall-web'), [
      '--bus', this.bus, '--config', this.path('web.conf'), '--listen', '127.0.0.1:0', '--socket', 'none', '--foreground',
    ])
    this.url = await eventually(() => `btcall-web: ${this.#log('web')}`, () => /listening: (http:\S+)/.exec(this.#log('web'))?.[1])
    this.token = execFileSync(join(programs, 'btcall'), [
      'web', 'token', '--scope', 'read,calls,route,pair,provider', '--for', '1h', '--secret', secret,
    ], { encoding: 'utf8' }).trim()
  }

  /** The plug-in as it is built here: nothing is installed. */
  #preparePCM() {
    const plugin = this.path('plugin')
    execFileSync(join(root, 'scripts/build-pcm-plugin'), [plugin])
    writeFileSync(this.path('asound.conf'), `</usr/share/alsa/alsa.conf>\n<${plugin}/60-btcall.conf>\n`)
    this.environment = {
      ALSA_CONFIG_PATH: this.path('asound.conf'), ALSA_PLUGIN_DIR: plugin, BTCALL_PCM_SOCKET: this.path('pcm.sock'),
    }
  }

  /** What GET answers. */
  async get(path) {
    const answer = await fetch(`${this.url}/v1${path}`, { headers: { Authorization: `Bearer ${this.token}` } })
    if (!answer.ok) throw new Error(`GET /v1${path}: ${answer.status}`)
    return answer.json()
  }

  /** Keys of the sandbox: its first line names them. */
  press(keys) { this.sandbox.stdin.write(keys) }

  /** Waits for a line that the sandbox prints after those that were waited for. */
  story(pattern) {
    const what = () => `${pattern} of the sandbox, which printed:\n${this.lines.join('\n')}\n${this.#log('sandbox')}`
    return eventually(what, () => {
      while (this.#read < this.lines.length) {
        const found = pattern.exec(this.lines[this.#read++])
        if (found) return found
      }
      if (this.sandbox.exitCode !== null) throw new Error(`the sandbox ended without ${what()}`)
      return null
    })
  }

  #watch() {
    let before = performance.now()
    this.#timer = setInterval(() => {
      const now = performance.now()
      if (now - before > 40) this.stalls.push({ at: Date.now(), milliseconds: now - before - 20 })
      before = now
    }, 20)
  }

  /** The longest time that this process stood still between two times of the clock. */
  longestStall(from, to = Date.now(), stalls = this.stalls) {
    return Math.round(Math.max(0, ...stalls.filter(({ at, milliseconds }) => at >= from && at - milliseconds <= to).map(({ milliseconds }) => milliseconds)))
  }

  /** Runs a part of a test, which is not judged if it fails on a machine that stood still. */
  async judge(t, body) {
    const begin = Date.now()
    try { await body() } catch (error) {
      const longest = this.longestStall(begin)
      if (longest < silencing) throw error
      t.skip(`the machine stood still for ${longest} ms: ${error.message.split(/\n|; the page/)[0]}`)
    }
  }

  /** Ends the sandbox, which writes its recordings then. */
  async quit() {
    this.press('q')
    await this.sandbox.gone
  }

  async stop() {
    clearInterval(this.#timer)
    for (const child of this.#children.reverse()) if (child.exitCode === null) child.kill()
    await Promise.all(this.#children.map((child) => child.gone))
    rmSync(this.folder, { recursive: true, force: true, maxRetries: 5 })
  }
}
