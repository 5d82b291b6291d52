/**
 * A web page as a telephony application of btcall: calls of the page ring on headsets, whose buttons answer, hold and end them.
 * One WebSocket to btcall-web carries everything but the audio. Types and their meaning: btcall.d.ts.
 *
 *     const phone = new Phone({ name: 'Kiosk', token, handlers: { answer: (call) => peer.accept(call.id) } })
 *     await phone.connect()
 *     const call = await phone.incoming('200', { name: 'Door' })
 *     call.addEventListener('state', () => show(call.state))
 */

export class PhoneError extends Error {
  constructor({ code = 'failed', name = null, message = code }) {
    super(message)
    this.code = code
    this.busName = name
  }
}

export class Call extends EventTarget {
  #phone
  reason = null

  constructor(phone, { call, state, direction, number = null, name = null }) {
    super()
    this.#phone = phone
    Object.assign(this, { id: call, state, direction, number, name })
  }

  alerting() { return this.#update('alerting') }
  active() { return this.#update('active') }
  held() { return this.#update('held') }
  ended(reason) { return this.#update('ended', reason) }

  /** Again after a reconnection: a report may be repeated. */
  async #update(state, reason) {
    if (this.state === 'ended') return
    for (;;) {
      try {
        await this.#phone.request('update', { call: this.id, state, ...(reason && { reason }) })
        return this.changed(state, reason)
      } catch (error) {
        if (this.state === 'ended') return
        if (error.code !== 'closed' || this.#phone.state === 'closed') throw error
      }
    }
  }

  changed(state, reason = null) {
    if (state === this.state || this.state === 'ended') return
    this.state = state
    this.reason = state === 'ended' ? reason : null
    this.dispatchEvent(new CustomEvent('state', { detail: { state, reason: this.reason } }))
  }
}

/** Asks of each capability. */
const asks = {
  hold: ['hold', 'resume'], swap: ['swap'], conference: ['conference'], dtmf: ['tones'], mute: ['mute', 'unmute'], dial: ['start'],
  talk: ['talk', 'listen']
}

export class Phone extends EventTarget {
  state = 'idle'
  calls = new Map()
  error = null
  #options
  #handlers
  #token
  #key
  #socket
  #requests = new Map()
  #lastID = 0
  #known = new Map()
  #pause = 0
  #timer
  #opened
  #isRegistered = false

  constructor(options) {
    super()
    this.#options = options
    this.#handlers = options.handlers ?? {}
    this.#token = options.token
    this.#key = options.key ?? storedKey(options.name)
    this.#opened = promise()
  }

  connect() {
    if (this.state === 'idle' || this.state === 'closed') {
      this.#opened = promise()
      this.#pause = 0
      this.#open()
    }
    return this.#opened.value
  }

  async close() {
    if (this.state === 'open') await this.request('unregister').catch(() => {})
    this.#close(new PhoneError({ code: 'closed', message: 'closed by the page' }))
  }

  incoming(number, more = {}) { return this.#report('reportIncoming', { number, ...more }) }
  outgoing(number, more = {}) { return this.#report('reportOutgoing', { number, ...more }) }
  watch(levels) { return this.request('watch', { levels }) }

  async #report(word, fields) { return this.#own(await this.request(word, fields)) }

  async request(word, fields = {}) {
    await this.#opened.value
    return this.#send(word, fields)
  }

  #send(request, fields) {
    return new Promise((resolve, reject) => {
      const id = ++this.#lastID
      this.#requests.set(id, { resolve, reject })
      this.#write({ request, id, ...fields })
    })
  }

  #write(message) { if (this.#socket?.readyState === 1) this.#socket.send(JSON.stringify(message)) }

  #become(state) {
    if (state === this.state) return
    this.state = state
    this.dispatchEvent(new CustomEvent('connection', { detail: state }))
  }

  #open() {
    this.#become('connecting')
    const url = new URL('/v1/socket', this.#options.url ?? import.meta.url)
    url.protocol = url.protocol.replace('http', 'ws')
    const socket = this.#socket = new WebSocket(url)
    socket.onopen = () => { if (this.#token) this.#send('authenticate', { token: this.#token }).catch(() => {}) }
    socket.onmessage = ({ data }) => { if (socket === this.#socket) this.#received(JSON.parse(data)) }
    socket.onclose = ({ code, reason }) => { if (socket === this.#socket) this.#closed(code, reason) }
  }

  async #closed(code, reason) {
    this.#socket = null
    this.#fail(new PhoneError({ code: 'closed', message: reason || `the connection closed (${code})` }))
    if (code === 4001) return this.#close(new PhoneError({ code: 'replaced', message: 'another page has the same key' }))
    this.#lost()
    if (code === 1008 || code === 4002) {
      if (!this.#options.refresh) return this.#close(new PhoneError({ code: 'badToken', message: reason || 'no valid token' }))
      await this.#renew().catch((error) => this.#warn(error))
      if (this.state !== 'waiting') return
    }
    this.#timer = setTimeout(() => this.#open(), this.#pause * (0.5 + Math.random() / 2))
    this.#pause = Math.min(Math.max(this.#pause * 2, 250), 8000)
  }

  #lost(state = 'waiting') {
    this.#isRegistered = false
    if (this.#opened.isDone) this.#opened = promise()
    this.#become(state)
  }

  async #renew() { this.#token = await this.#options.refresh() }

  #fail(error) {
    for (const { reject } of this.#requests.values()) reject(error)
    this.#requests.clear()
  }

  #close(error) {
    clearTimeout(this.#timer)
    this.error = error
    this.#lost('closed')
    this.#fail(error)
    this.#opened.reject(error)
    this.#endAll('providerGone')
    const socket = this.#socket
    this.#socket = null
    socket?.close()
  }

  #received(message) {
    if ('reply' in message) {
      const request = this.#requests.get(message.reply)
      this.#requests.delete(message.reply)
      if (message.error) request?.reject(new PhoneError(message.error))
      else request?.resolve(message.result)
    } else if ('ask' in message) this.#asked(message)
    else this.#happened(message)
  }

  async #asked(message) {
    try {
      const handler = this.#handlers[message.ask]
      if (!handler && message.ask !== 'end') throw new Error(`the page cannot ${message.ask}`)
      await handler?.(this.#own({ call: message.call ?? message.calls?.[0] }), message)
      this.#write({ done: message.id })
    } catch (error) {
      this.#write({ refused: message.id, message: String(error?.message ?? error) })
    }
  }

  #happened(message) {
    const call = this.calls.get(message.call)
    switch (message.event) {
      case 'present':
        this.#known = new Map((message.status.calls ?? []).map((facts) => [facts.call, facts]))
        if (message.status.state !== 'absent' && !this.#isRegistered) this.#register()
        break
      case 'callAdded': this.#known.set(message.call, message); break
      case 'callState': call?.changed(message.state, message.reason); break
      case 'callRemoved':
        this.#known.delete(message.call)
        call?.changed('ended', message.reason)
        break
      case 'released':
        this.#endAll('providerGone')
        this.#lost()
        break
      case 'tokenRefreshRequested':
        if (!this.#options.refresh) break
        this.#renew().then(() => this.#send('authenticate', { token: this.#token })).catch((error) => this.#warn(error))
    }
    this.dispatchEvent(new CustomEvent(message.event, { detail: message }))
  }

  async #register() {
    this.#isRegistered = true
    const { name, schemes, talk } = this.#options
    const capabilities = Object.keys(asks).filter((word) => asks[word].every((ask) => this.#handlers[ask]))
    try {
      const { calls } = await this.#send('register', { name, capabilities, key: this.#key, ...(schemes && { schemes }), ...(talk && { talk }) })
      const ids = new Set(calls.map((facts) => facts.call))
      for (const call of [...this.calls.values()]) if (!ids.has(call.id)) call.changed('ended', 'providerGone')
      for (const facts of calls) this.#own(facts).changed(facts.state)
      this.#pause = 0
      this.#become('open')
      this.#opened.resolve()
    } catch (error) {
      if (error.code === 'closed') return
      this.#warn(error)
      // These stay so; anything else may pass.
      if (['noScope', 'invalidArgument', 'badRequest', 'accessDenied'].includes(error.code)) this.#close(error)
      else this.#socket?.close()
    }
  }

  /** The call with these facts, made if the page has none yet. */
  #own(facts) {
    const known = this.calls.get(facts.call)
    if (known) return known
    const call = new Call(this, { ...this.#known.get(facts.call), ...facts })
    if (call.state === 'ended') return call
    this.calls.set(call.id, call)
    call.addEventListener('state', () => { if (call.state === 'ended') this.calls.delete(call.id) })
    if (!('direction' in facts) || this.state !== 'open') this.dispatchEvent(new CustomEvent('call', { detail: call }))
    return call
  }

  #endAll(reason) { for (const call of [...this.calls.values()]) call.changed('ended', reason) }

  #warn(error) { this.dispatchEvent(new CustomEvent('warning', { detail: error })) }
}

/** A promise that others fulfil. Nobody has to wait for its rejection. */
function promise() {
  const made = {}
  made.value = new Promise((resolve, reject) => Object.assign(made, { resolve, reject }))
  made.value.then(() => { made.isDone = true }, () => {})
  return made
}

/** The tab's key, which a reload keeps. */
function storedKey(name) {
  const place = `btcall.key.${name}`
  const made = Array.from(crypto.getRandomValues(new Uint8Array(16)), (byte) => byte.toString(16).padStart(2, '0')).join('')
  try {
    const key = sessionStorage.getItem(place) ?? made
    sessionStorage.setItem(place, key)
    return key
  } catch {
    return made // The browser keeps nothing: a reload begins with no calls.
  }
}
