// btcall.js against a small WebSocket server (ws) with the messages of docs/inside/Web.md. Tests/Web/run starts it.

import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { webcrypto } from 'node:crypto'
import { afterEach, test } from 'node:test'

const require = createRequire(import.meta.url)
// From Debian's node-ws: Node 18 has no WebSocket, and none has a server.
const { WebSocket, WebSocketServer } = require(process.env.WS_MODULE ?? '/usr/share/nodejs/ws')
// Browsers report a failure as the end of the connection, too, and do not throw it.
globalThis.WebSocket = class extends WebSocket {
  constructor(url) { super(url); this.on('error', () => {}) }
}
globalThis.crypto ??= webcrypto
globalThis.CustomEvent ??= class extends Event {
  constructor(type, { detail } = {}) { super(type); this.detail = detail }
}

const module = new URL('../../web/btcall.js', import.meta.url)
const { Call, Phone, PhoneError } = await import(module)
const key = '0123456789abcdef'

/** A server whose messages the test sends, and whose answers it chooses. */
class Server {
  connections = []
  received = []
  #waiting = []
  calls = []

  static async start(port = 0) {
    const server = new Server()
    server.sockets = new WebSocketServer({ port, host: '127.0.0.1' })
    await new Promise((resolve) => server.sockets.once('listening', resolve))
    server.port = server.sockets.address().port
    server.sockets.on('connection', (socket, request) => {
      server.connections.push({ socket, path: request.url })
      socket.on('message', (data) => server.#took(socket, JSON.parse(data)))
      if (!server.needsToken) server.present(socket)
    })
    return server
  }

  get url() { return `http://127.0.0.1:${this.port}` }
  get last() { return this.connections.at(-1).socket }

  send(message, socket = this.last) { socket.send(JSON.stringify(message)) }

  present(socket = this.last, state = 'active') {
    this.send({ event: 'present', time: 't', status: { state, calls: this.known ?? [] }, devices: [] }, socket)
  }

  #took(socket, message) {
    this.received.push(message)
    for (const waiting of [...this.#waiting]) waiting()
    const refusal = this.refuses?.[message.request]
    if (refusal) return this.send({ reply: message.id, error: refusal }, socket)
    switch (message.request) {
      case 'authenticate':
        if (message.token === 'expired') return socket.close(1008, 'the token expired 70 s ago')
        this.send({ reply: message.id, result: { scopes: ['read', 'provider'] } }, socket)
        if (this.needsToken) this.present(socket)
        break
      case 'register': this.send({ reply: message.id, result: { calls: this.calls } }, socket); break
      case 'reportIncoming': case 'reportOutgoing': {
        const isIncoming = message.request === 'reportIncoming'
        const call = {
          call: `id-${message.id}`, state: isIncoming ? 'ringing' : message.state ?? 'dialing', direction: isIncoming ? 'incoming' : 'outgoing',
          number: message.number, name: message.name ?? null, provider: 'Test',
        }
        this.send({ reply: message.id, result: call }, socket)
        break
      }
      case 'update': if (!this.isDeaf) this.send({ reply: message.id, result: { call: message.call, state: message.state } }, socket); break
      default: if (message.request) this.send({ reply: message.id, result: {} }, socket)
    }
  }

  /** The next message, also one of before, that fits and was not returned yet. */
  async next(fits) {
    for (;;) {
      const index = this.received.findIndex(fits)
      if (index >= 0) return this.received.splice(index, 1)[0]
      await new Promise((resolve) => {
        const waiting = () => { this.#waiting.splice(this.#waiting.indexOf(waiting), 1); resolve() }
        this.#waiting.push(waiting)
      })
    }
  }

  /** Without saying why, as if the cable had gone. */
  cut() { for (const { socket } of this.connections) socket.terminate() }

  async stop() {
    this.cut()
    await new Promise((resolve) => this.sockets.close(resolve))
  }
}

const open = []
async function begin(options = {}, prepare = () => {}) {
  const server = await Server.start()
  prepare(server)
  const phone = new Phone({ name: 'Test', key, url: server.url, ...options })
  open.push({ phone, server })
  return { server, phone }
}

afterEach(async () => {
  for (const { phone, server } of open.splice(0)) {
    await server.stop()
    await phone.close()
  }
})

const event = (target, word) => new Promise((resolve) => target.addEventListener(word, ({ detail }) => resolve(detail), { once: true }))
const is = (word) => (message) => message.request === word

test('the module has at most 10 kB, imports nothing, and has its types beside it', () => {
  const text = readFileSync(module, 'utf8')
  assert.ok(Buffer.byteLength(text) <= 10_000, `${Buffer.byteLength(text)} bytes`)
  assert.doesNotMatch(text, /^\s*import\b|\bimport\(|innerHTML|\beval\(/m)
  const types = readFileSync(new URL('btcall.d.ts', module), 'utf8')
  for (const word of Object.keys({ Call, Phone, PhoneError })) assert.match(types, new RegExp(`export class ${word} `))
  const members = [Phone, Call].flatMap((type) => Object.getOwnPropertyNames(type.prototype)).filter((name) => !['constructor', 'changed'].includes(name))
  for (const member of members) assert.match(types, new RegExp(`^  (readonly )?${member}[(:]`, 'm'), member)
})

test('it registers with its name, its key, and the capabilities that its handlers cover', async () => {
  const handlers = { answer() {}, hold() {}, resume() {}, tones() {}, mute() {}, talk() {}, listen() {} }
  const { server, phone } = await begin({ handlers, schemes: ['sip'], talk: 'push' })
  const states = []
  phone.addEventListener('connection', ({ detail }) => states.push(detail))
  await phone.connect()
  const { id, ...request } = await server.next(is('register'))
  assert.deepEqual(request, {
    request: 'register', name: 'Test', key, capabilities: ['hold', 'dtmf', 'talk'], schemes: ['sip'], talk: 'push',
  })
  assert.deepEqual(states, ['connecting', 'open'])
  assert.equal(server.connections[0].path, '/v1/socket')
})

test('with a token it authenticates first, and registers when the present state has come', async () => {
  const { server, phone } = await begin({ token: 'good' }, (server) => { server.needsToken = true })
  await phone.connect()
  assert.deepEqual(server.received.map((message) => message.request), ['authenticate', 'register'])
  assert.equal(server.received[0].token, 'good')
})

test('a call is reported, follows the bus, and ends once', async () => {
  const { server, phone } = await begin()
  await phone.connect()
  const call = await phone.incoming('200', { name: 'Door', routes: ['earpiece'] })
  assert.ok(call instanceof Call)
  assert.deepEqual([call.state, call.direction, call.number, call.name], ['ringing', 'incoming', '200', 'Door'])
  assert.deepEqual((await server.next(is('reportIncoming'))).routes, ['earpiece'])
  const states = []
  call.addEventListener('state', ({ detail }) => states.push(detail))
  server.send({ event: 'callState', time: 't', call: call.id, state: 'active', reason: null })
  assert.equal((await event(call, 'state')).state, 'active')
  await call.held()
  await call.active()
  await call.ended('busy')
  await call.ended('again')
  assert.deepEqual(states, [
    { state: 'active', reason: null }, { state: 'held', reason: null }, { state: 'active', reason: null },
    { state: 'ended', reason: 'busy' },
  ])
  assert.equal(call.reason, 'busy')
  assert.equal(phone.calls.size, 0)
  const updates = server.received.filter(is('update'))
  assert.deepEqual(updates.map(({ state, reason }) => [state, reason]), [['held', undefined], ['active', undefined], ['ended', 'busy']])
})

test('an outgoing call may begin as alerting', async () => {
  const { phone } = await begin()
  await phone.connect()
  const call = await phone.outgoing('300', { state: 'alerting' })
  assert.deepEqual([call.state, call.direction], ['alerting', 'outgoing'])
})

test('what is asked is done or refused, with the call and the question', async () => {
  const asked = []
  const handlers = {
    answer: async (call, ask) => { asked.push([call.id, ask.ask]) },
    tones: (call, ask) => { asked.push([call.id, ask.tones]) },
    hold: () => { throw new Error('music on hold is broken') },
    resume: () => Promise.reject('no'),
  }
  const { server, phone } = await begin({ handlers })
  await phone.connect()
  const call = await phone.incoming('1')
  const reply = (id) => server.next((message) => message.done === id || message.refused === id)
  for (const [id, ask, expected] of [
    [1, { ask: 'answer' }, { done: 1 }], [2, { ask: 'tones', tones: '12#' }, { done: 2 }],
    [3, { ask: 'hold' }, { refused: 3, message: 'music on hold is broken' }], [4, { ask: 'resume' }, { refused: 4, message: 'no' }],
    [5, { ask: 'swap' }, { refused: 5, message: 'the page cannot swap' }],
    // Without a handler the end of a call is granted.
    [6, { ask: 'end', reason: 'localHangUp' }, { done: 6 }],
  ]) {
    server.send({ ...ask, id, call: call.id })
    assert.deepEqual(await reply(id), expected)
  }
  assert.deepEqual(asked, [[call.id, 'answer'], [call.id, '12#']])
})

test('a dialled call, and one taken over from a push, is announced with what is known of it', async () => {
  const dialled = { call: 'a', state: 'dialing', direction: 'outgoing', number: '300', name: null, provider: 'Test' }
  const { server, phone } = await begin({ handlers: { start() {}, answer() {} } })
  await phone.connect()
  const announced = event(phone, 'call')
  server.send({ event: 'callAdded', time: 't', ...dialled })
  server.send({ ask: 'start', id: 1, call: 'a', number: '300' })
  const call = await announced
  assert.deepEqual([call.id, call.number, call.state, call.direction], ['a', '300', 'dialing', 'outgoing'])
  assert.equal(phone.calls.get('a'), call)
})

test('after a cut it comes back with its key and its calls, and reports what happened meanwhile', async () => {
  const { server, phone } = await begin()
  await phone.connect()
  const [kept, gone] = [await phone.incoming('1'), await phone.incoming('2')]
  const announced = []
  phone.addEventListener('call', ({ detail }) => announced.push(detail))
  server.calls = [{ call: kept.id, state: 'active', direction: 'incoming', number: '1', name: null }]
  server.received = []
  const waiting = event(phone, 'connection')
  server.cut()
  assert.equal(await waiting, 'waiting')
  const ended = kept.ended('remoteHangUp')
  const { key: same } = await server.next(is('register'))
  assert.equal(same, key)
  await ended
  assert.deepEqual((({ call, state, reason }) => ({ call, state, reason }))(await server.next(is('update'))),
    { call: kept.id, state: 'ended', reason: 'remoteHangUp' })
  assert.equal(phone.state, 'open')
  assert.deepEqual([gone.state, gone.reason], ['ended', 'providerGone'])
  assert.deepEqual(announced, [])
})

test('a report whose answer was lost is made again', async () => {
  const { server, phone } = await begin()
  await phone.connect()
  const call = await phone.incoming('1')
  server.isDeaf = true
  const done = call.active()
  await server.next(is('update'))
  server.calls = [{ call: call.id, state: 'ringing', direction: 'incoming', number: '1' }]
  server.isDeaf = false
  server.cut()
  await done
  assert.equal(call.state, 'active')
})

test('a new call whose answer was lost is refused as closed, not reported twice', async () => {
  const { server, phone } = await begin()
  await phone.connect()
  const lost = phone.incoming('1')
  // The socket ends before the server answers.
  server.connections[0].socket.removeAllListeners('message')
  server.cut()
  await assert.rejects(lost, { code: 'closed' })
  await server.next(is('register'))
  assert.equal(server.received.filter(is('reportIncoming')).length, 0)
})

test('a page that is loaded again finds its call', async () => {
  const { phone } = await begin({}, (server) => {
    server.calls = [{ call: 'a', state: 'active', direction: 'incoming', number: '1', name: 'Door' }]
  })
  const found = event(phone, 'call')
  await phone.connect()
  const call = await found
  assert.deepEqual([call.id, call.state, call.name], ['a', 'active', 'Door'])
})

test('it waits for a server that is away', async () => {
  const first = await Server.start()
  const { port } = first
  await first.stop()
  const phone = new Phone({ name: 'Test', key, url: `http://127.0.0.1:${port}` })
  const connected = phone.connect()
  while ((await event(phone, 'connection')) !== 'waiting');
  const server = await Server.start(port)
  open.push({ phone, server })
  await connected
  assert.equal(phone.state, 'open')
})

test('when btcalld ends its calls end, and it registers again with the next present state', async () => {
  const { server, phone } = await begin()
  await phone.connect()
  const call = await phone.incoming('1')
  server.send({ event: 'released', time: 't' })
  assert.equal((await event(call, 'state')).reason, 'providerGone')
  server.received = []
  // A request waits until btcalld is back.
  const next = phone.incoming('2')
  server.present(server.last, 'absent')
  server.present()
  assert.equal((await next).number, '2')
  assert.deepEqual(server.received.map((message) => message.request), ['register', 'reportIncoming'])
})

test('at 80 % of its life it hands in the next token on the same connection', async () => {
  const { server, phone } = await begin({ token: 'one', refresh: async () => 'two' })
  await phone.connect()
  server.received = []
  server.send({ event: 'tokenRefreshRequested', time: 't', expiresAt: 't' })
  assert.equal((await server.next(is('authenticate'))).token, 'two')
  assert.equal(server.connections.length, 1)
})

test('after the end of a token it comes back with the next one', async () => {
  const tokens = ['two']
  const { server, phone } = await begin({ token: 'one', refresh: () => tokens.shift() }, (server) => { server.needsToken = true })
  await phone.connect()
  server.received = []
  server.last.close(4002, 'the token has expired')
  assert.equal((await server.next(is('authenticate'))).token, 'two')
  await server.next(is('register'))
})

test('a token that is refused ends it when there is no other one', async () => {
  const { phone } = await begin({ token: 'expired' }, (server) => { server.needsToken = true })
  await assert.rejects(phone.connect(), { code: 'badToken', message: 'the token expired 70 s ago' })
  assert.equal(phone.state, 'closed')
  await assert.rejects(phone.incoming('1'), { code: 'badToken' })
})

test('a token that cannot be fetched now is fetched later', async () => {
  let attempts = 0
  const refresh = async () => {
    attempts += 1
    if (attempts < 3) throw new Error('the issuer is away')
    return 'good'
  }
  const { phone } = await begin({ token: 'expired', refresh }, (server) => { server.needsToken = true })
  const warnings = []
  phone.addEventListener('warning', ({ detail }) => warnings.push(detail.message))
  await phone.connect()
  assert.deepEqual([attempts, warnings], [3, ['the issuer is away', 'the issuer is away']])
})

test('another page with the same key replaces it for good', async () => {
  const { server, phone } = await begin()
  await phone.connect()
  const call = await phone.incoming('1')
  server.last.close(4001, 'replaced')
  while (phone.state !== 'closed') await event(phone, 'connection')
  assert.equal(phone.error.code, 'replaced')
  assert.equal(call.state, 'ended')
  assert.equal(server.connections.length, 1)
})

test('a registration that is refused for good ends it, with the reason', async () => {
  const error = { code: 'noScope', name: null, message: 'the token lacks the scope provider' }
  const { phone } = await begin({}, (server) => { server.refuses = { register: error } })
  await assert.rejects(phone.connect(), { code: 'noScope', message: error.message })
})

test('a registration that is refused for now is tried again', async () => {
  const { server, phone } = await begin({}, (server) => {
    server.refuses = { register: { code: 'unavailable', name: null, message: 'not now' } }
  })
  const connected = phone.connect()
  assert.equal((await event(phone, 'warning')).code, 'unavailable')
  server.refuses = {}
  await connected
})

test('a refused request names the error of the bus', async () => {
  const { phone } = await begin({}, (server) => {
    server.refuses = { reportIncoming: { code: 'filtered', name: 'org.btcall.Error.Filtered', message: 'do not disturb is on' } }
  })
  await phone.connect()
  await assert.rejects(phone.incoming('1'), (error) => {
    assert.ok(error instanceof PhoneError)
    assert.deepEqual([error.code, error.busName, error.message], ['filtered', 'org.btcall.Error.Filtered', 'do not disturb is on'])
    return true
  })
})

test('closing unregisters, ends the calls, and stays closed', async () => {
  const { server, phone } = await begin()
  await phone.connect()
  const call = await phone.incoming('1')
  await phone.close()
  await server.next(is('unregister'))
  assert.deepEqual([phone.state, call.state], ['closed', 'ended'])
  await assert.rejects(phone.incoming('2'), { code: 'closed' })
  await phone.connect()
  assert.equal(phone.state, 'open')
})

test('events of the server come with their words', async () => {
  const { server, phone } = await begin()
  await phone.connect()
  const happened = event(phone, 'routeChanged')
  server.send({ event: 'routeChanged', time: 't', old: null, new: 'earpiece', reason: 'callStarted' })
  assert.equal((await happened).new, 'earpiece')
  const state = event(phone, 'state')
  server.send({ event: 'state', time: 't', state: 'inactive' })
  assert.equal((await state).state, 'inactive')
})
