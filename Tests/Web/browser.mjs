// A headless Chromium, driven through its debugging protocol.

import { spawn } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { createRequire } from 'node:module'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

const { WebSocket } = createRequire(import.meta.url)(process.env.WS_MODULE ?? '/usr/share/nodejs/ws')

/** One tab of a browser of its own. */
export class Browser {
  #last = 0
  #replies = new Map()
  /** Errors of pages and refusals of the content security policy. */
  problems = []
  /** Addresses that the page asked for. */
  requests = []

  /**
   * @param {string[]} more arguments
   * @param {string} folder the profile, which stays; without it a new one, which does not
   * @param {object} environment variables besides those of this process
   */
  static async start(more = [], { folder = null, environment = {} } = {}) {
    const browser = new Browser()
    browser.keepsFolder = folder !== null
    browser.folder = folder ?? mkdtempSync(join(tmpdir(), 'btcall-browser-'))
    browser.process = spawn(process.env.CHROMIUM ?? 'chromium', [
      '--headless=new', '--no-first-run', '--disable-gpu', '--disable-background-networking', '--disable-component-update',
      '--remote-debugging-port=0', `--user-data-dir=${browser.folder}`,
      // The sandbox needs a user that is not root.
      ...(process.getuid() === 0 ? ['--no-sandbox'] : []), ...more, 'about:blank',
    ], { stdio: ['ignore', 'ignore', 'pipe'], env: { ...process.env, ...environment } })
    const address = await new Promise((resolve, reject) => {
      let text = ''
      browser.process.stderr.on('data', (data) => {
        text += data
        const found = /DevTools listening on (ws:\S+)/.exec(text)
        if (found) resolve(found[1])
      })
      browser.process.on('exit', (code) => reject(new Error(`chromium ended with ${code}: ${text}`)))
    })
    browser.socket = new WebSocket(address)
    await new Promise((resolve, reject) => browser.socket.once('open', resolve).once('error', reject))
    // A killed browser closes the connection as it likes.
    browser.socket.on('error', () => {})
    browser.socket.on('message', (data) => browser.#received(JSON.parse(data)))
    const { targetInfos } = await browser.send('Target.getTargets')
    await browser.attach(targetInfos.find((target) => target.type === 'page').targetId)
    return browser
  }

  async attach(targetId) {
    const { sessionId } = await this.send('Target.attachToTarget', { targetId, flatten: true }, null)
    this.session = sessionId
    for (const domain of ['Page', 'Runtime', 'Log', 'Network']) await this.send(`${domain}.enable`)
    return sessionId
  }

  /** Opens another tab, which the next calls mean; set `session` to what it was to return. */
  async tab() {
    const { targetId } = await this.send('Target.createTarget', { url: 'about:blank' }, null)
    return this.attach(targetId)
  }

  send(method, params = {}, sessionId = this.session) {
    return new Promise((resolve, reject) => {
      const id = ++this.#last
      this.#replies.set(id, { resolve, reject, method })
      this.socket.send(JSON.stringify({ id, method, params, ...(sessionId && { sessionId }) }))
    })
  }

  #received(message) {
    const reply = this.#replies.get(message.id)
    this.#replies.delete(message.id)
    if (message.error) reply?.reject(new Error(`${reply.method}: ${message.error.message}`))
    else reply?.resolve(message.result)
    const { method, params } = message
    if (method === 'Runtime.exceptionThrown') this.problems.push(params.exceptionDetails.exception?.description ?? params.exceptionDetails.text)
    if (method === 'Log.entryAdded' && params.entry.level === 'error') this.problems.push(`${params.entry.text} ${params.entry.url ?? ''}`)
    if (method === 'Network.requestWillBeSent') this.requests.push(params.request.url)
    if (method === 'Network.webSocketCreated') this.requests.push(params.url)
  }

  /** @param {{width: number, height: number, scheme: 'light'|'dark'}} view */
  async view({ width, height, scheme }) {
    await this.send('Emulation.setDeviceMetricsOverride', { width, height, deviceScaleFactor: 1, mobile: width < 600 })
    await this.send('Emulation.setEmulatedMedia', { features: [{ name: 'prefers-color-scheme', value: scheme }] })
  }

  open(url) { return this.send('Page.navigate', { url }) }

  /** The value of an expression in the page. */
  async value(expression) {
    const { result, exceptionDetails } = await this.send('Runtime.evaluate', { expression, awaitPromise: true, returnByValue: true })
    if (exceptionDetails) throw new Error(exceptionDetails.exception?.description ?? exceptionDetails.text)
    return result.value
  }

  /** Waits until an expression in the page is true, and returns the milliseconds that took. A page that loads may not have its parts yet. */
  async until(expression, milliseconds = 30_000) {
    const begin = performance.now()
    for (;;) {
      let problem = ''
      try { if (await this.value(`Boolean(${expression})`)) return performance.now() - begin } catch (error) { problem = `; ${error.message}` }
      if (performance.now() - begin > milliseconds) throw new Error(`not within ${milliseconds} ms: ${expression}${problem}`)
      await new Promise((resolve) => setTimeout(resolve, 20))
    }
  }

  /** @returns {Promise<Buffer>} a PNG of the whole page, or of the window */
  async picture(isWhole = false) {
    const { data } = await this.send('Page.captureScreenshot', { format: 'png', captureBeyondViewport: isWhole })
    return Buffer.from(data, 'base64')
  }

  close() { return this.#end(() => this.send('Browser.close', {}, null).catch(() => this.process.kill())) }

  /** Ends it as a crash does. A second end does nothing. */
  kill() { return this.#end(() => this.process.kill('SIGKILL')) }

  async #end(end) {
    if (this.process.exitCode === null && this.process.signalCode === null) {
      const gone = new Promise((resolve) => this.process.once('exit', resolve))
      await Promise.race([end(), gone])
      await gone
    }
    if (!this.keepsFolder) rmSync(this.folder, { recursive: true, force: true, maxRetries: 5 })
  }
}
