// Serves the status page with a recorded state, to look at it without btcalld: every request is answered from recorded.json.
//     node Tests/Web/serve.mjs [PORT]        then open the printed address

import { createReadStream, readFileSync } from 'node:fs'
import { createServer } from 'node:http'
import { createRequire } from 'node:module'
import { extname, join, normalize } from 'node:path'
import { fileURLToPath } from 'node:url'

const { WebSocketServer } = createRequire(import.meta.url)(process.env.WS_MODULE ?? '/usr/share/nodejs/ws')
const here = fileURLToPath(new URL('.', import.meta.url))
const folders = { '': join(here, '../../web'), pages: join(here, '../../Examples/kiosk') }
const types = { '.html': 'text/html', '.css': 'text/css', '.js': 'text/javascript', '.svg': 'image/svg+xml' }

/**
 * @param {number} port
 * @param {Object<string, (message: object) => object>} results of requests on the WebSocket
 * @param {(message: object) => void} received every message of the page
 * @returns {Promise<{url: string, token: string, state: object, sockets: Set, send: (message: object) => void, close: () => void}>}
 */
export async function serve(port = 0, results = {}, received = null) {
  const state = JSON.parse(readFileSync(join(here, 'recorded.json'), 'utf8'))
  const token = 'a-token'
  const answers = {
    'GET /v1': () => ({ version: state.status.version, api: 1, scopes: state.scopes, expiresAt: null }),
    'GET /v1/status': () => state.status,
    'GET /v1/devices': () => state.devices,
    'GET /v1/why': () => state.why,
    'GET /v1/doctor': () => state.doctor,
    'POST /v1/test-call': () => state.testCall,
  }
  const requests = []
  const server = createServer((request, response) => {
    const path = new URL(request.url, 'http://a').pathname
    const headers = { 'Content-Security-Policy': "default-src 'self'", 'X-Content-Type-Options': 'nosniff' }
    if (path.startsWith('/v1')) {
      requests.push(`${request.method} ${path}`)
      const isAllowed = request.headers.authorization === `Bearer ${token}`
      const answer = /^\/v1\/calls\/[^/]+$/.test(path) ? () => ({ ...state.status.calls[0], quality: state.quality }) : answers[`${request.method} ${path}`]
      const body = !isAllowed ? { error: { code: 'badToken', name: null, message: 'the token expired 70 s ago' } }
        : answer?.() ?? {}
      response.writeHead(isAllowed ? 200 : 401, { ...headers, 'Content-Type': 'application/json' })
      return response.end(JSON.stringify(body))
    }
    const folder = path.startsWith('/pages/') ? 'pages' : ''
    const rest = folder ? path.slice('/pages'.length) : path
    const file = normalize(join(folders[folder], rest === '/' ? 'index.html' : rest))
    const stream = file.startsWith(folders[folder]) ? createReadStream(file) : null
    stream?.on('open', () => {
      response.writeHead(200, { ...headers, 'Content-Type': types[extname(file)] ?? 'text/plain' })
      stream.pipe(response)
    })
    const missing = () => response.writeHead(404, headers).end()
    if (stream) stream.on('error', missing)
    else missing()
  })
  const sockets = new Set()
  const send = (message, to = sockets) => { for (const socket of to) socket.send(JSON.stringify({ time: new Date().toISOString(), ...message })) }
  const present = (socket) => {
    send({ event: 'present', status: state.status, devices: state.devices, doNotDisturb: state.doNotDisturb, pairing: state.pairing }, [socket])
    const active = state.status.calls.find((call) => call.state === 'active')
    if (active) send({ event: 'quality', call: active.call, score: state.quality.score }, [socket])
  }
  new WebSocketServer({ server, path: '/v1/socket' }).on('connection', (socket) => {
    socket.on('message', (data) => {
      const message = JSON.parse(data)
      received?.(message, socket)
      if (message.request === 'authenticate' && message.token !== token) return socket.close(1008, 'the token expired 70 s ago')
      if (message.request) socket.send(JSON.stringify({ reply: message.id, result: results[message.request]?.(message) ?? { scopes: state.scopes } }))
      if (message.request === 'authenticate' && !sockets.has(socket)) {
        sockets.add(socket)
        present(socket)
      }
      if (message.request === 'watch' && message.levels && state.status.route) send({ event: 'levels', said: -21.4, heard: -33.2 }, [socket])
    })
    socket.on('close', () => sockets.delete(socket))
  })
  await new Promise((resolve) => server.listen(port, '127.0.0.1', resolve))
  return {
    url: `http://127.0.0.1:${server.address().port}/`, token, state, sockets, send, requests,
    close: () => { server.closeAllConnections?.(); server.close() },
  }
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const { url, token } = await serve(Number(process.argv[2] ?? 0))
  console.log(`${url}#token=${token}`)
}
