// The token, requests, and the WebSocket with events.

const place = 'btcall.token'
const longestPause = 8000

/** A refusal of the server: `code` and a text for people. */
export class Refusal extends Error {
  constructor({ code = 'failed', message = 'the server gave no reason' } = {}, status = 0) {
    super(message)
    this.code = code
    this.status = status
  }
}

/** Takes the token out of the address, where browsers keep what others may read. */
function tokenOfAddress() {
  const token = new URLSearchParams(location.hash.slice(1)).get('token')
  if (token !== null) history.replaceState(null, '', location.pathname + location.search)
  return token
}

/** Events: `state`, `access` (a token is needed; `detail` says why), and each event of the server by its word. */
export class Connection extends EventTarget {
  /** connecting, open or waiting */
  state = 'connecting'
  scopes = new Set()
  #token = tokenOfAddress() ?? stored()
  #socket = null
  #pause = 250
  #lastID = 0
  #requests = new Map()
  #wantsLevels = false

  /** @param {string|null} token */
  use(token) {
    this.#token = token
    store(token)
    if (this.state === 'open') return this.#authenticate()
    this.#socket?.close()
    this.#socket = null
    return this.start()
  }

  allows(scope) { return this.scopes.has(scope) || this.scopes.has('admin') }

  /** Asks what the token allows, then opens the WebSocket. Tries again until there is an answer. */
  async start() {
    clearTimeout(this.timer)
    this.#become('connecting')
    try {
      const { scopes } = await this.get('')
      this.#allow(scopes)
    } catch (refusal) {
      if (refusal.status === 401 || refusal.status === 403) {
        this.#become('waiting')
        return this.#deny(this.#token ? refusal.message : '')
      }
      return this.#retry()
    }
    this.#open()
  }

  /** @param {boolean} wants events `levels` */
  watch(wants) {
    this.#wantsLevels = wants
    // Without the connection it is asked for when there is one.
    if (this.state === 'open') this.#send('watch', { levels: wants }).catch(() => {})
  }

  get(path) { return this.#fetch('GET', path) }
  post(path, body) { return this.#fetch('POST', path, body) }
  put(path, body) { return this.#fetch('PUT', path, body) }
  remove(path) { return this.#fetch('DELETE', path) }

  async #fetch(method, path, body) {
    const headers = this.#token ? { Authorization: `Bearer ${this.#token}` } : {}
    if (body !== undefined) headers['Content-Type'] = 'application/json'
    const response = await fetch(`/v1${path}`, {
      method, headers, body: body === undefined ? undefined : JSON.stringify(body), cache: 'no-store', credentials: 'omit',
    })
    let answer
    try { answer = await response.json() } catch { answer = {} }
    if (!response.ok) throw new Refusal(answer.error, response.status)
    return answer
  }

  #open() {
    const socket = this.#socket = new WebSocket(`${location.protocol.replace('http', 'ws')}//${location.host}/v1/socket`)
    socket.addEventListener('open', () => { if (this.#token) this.#authenticate() })
    socket.addEventListener('message', ({ data }) => { if (socket === this.#socket) this.#received(JSON.parse(data)) })
    socket.addEventListener('close', ({ code, reason }) => { if (socket === this.#socket) this.#closed(code, reason) })
  }

  /** A refusal is heard of as the end of the connection, or goes to the person. */
  async #authenticate() {
    try {
      const { scopes } = await this.#send('authenticate', { token: this.#token })
      this.#allow(scopes)
      return true
    } catch (refusal) {
      if (refusal.code !== 'closed') this.#deny(refusal.message)
      return false
    }
  }

  #send(request, fields) {
    return new Promise((resolve, reject) => {
      const id = ++this.#lastID
      this.#requests.set(id, { resolve, reject })
      this.#socket.send(JSON.stringify({ request, id, ...fields }))
    })
  }

  #received(message) {
    if ('reply' in message) {
      const request = this.#requests.get(message.reply)
      this.#requests.delete(message.reply)
      if (message.error) request?.reject(new Refusal(message.error))
      else request?.resolve(message.result)
      return
    }
    if (message.event === 'present') {
      this.#pause = 250
      this.#become('open')
      if (this.#wantsLevels) this.watch(true)
    }
    this.dispatchEvent(new CustomEvent(message.event, { detail: message }))
  }

  #closed(code, reason) {
    this.#socket = null
    for (const { reject } of this.#requests.values()) reject(new Refusal({ code: 'closed', message: 'the connection ended' }))
    this.#requests.clear()
    this.#become('waiting')
    if (code === 1008 || code === 4002) this.#deny(reason || 'The token has ended.')
    else this.#retry()
  }

  #retry() {
    this.#become('waiting')
    clearTimeout(this.timer)
    this.timer = setTimeout(() => this.start(), this.#pause * (0.75 + Math.random() / 4))
    this.#pause = Math.min(this.#pause * 2, longestPause)
  }

  #allow(scopes) {
    this.scopes = new Set(scopes)
    this.dispatchEvent(new CustomEvent('scopes'))
  }

  #deny(message) { this.dispatchEvent(new CustomEvent('access', { detail: message })) }

  #become(state) {
    if (state === this.state) return
    this.state = state
    this.dispatchEvent(new CustomEvent('connection'))
  }
}

function stored() {
  try { return sessionStorage.getItem(place) } catch { return null } // The browser keeps nothing: it is asked for again.
}

function store(token) {
  try {
    if (token) sessionStorage.setItem(place, token)
    else sessionStorage.removeItem(place)
  } catch { /* As above. */ }
}
