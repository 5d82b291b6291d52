// The status page: what btcalld does now, and the few things that an installer changes.

import { Connection } from './connection.js'
import { busy, find, keepList, make, setText, show } from './dom.js'
import { callRow, deviceRow, findingRow, foundRow, isChoice, problemRow } from './lists.js'
import { callText, deviceText, kindText, partyText, reasonText } from './words.js'

const connection = new Connection()
const absent = { state: 'absent', calls: [], problems: [] }
/** What is shown: Status and [Device] of docs/reference/JSONObjects.md, and Pairing. */
let status = absent
let devices = []
let pairing = { state: 'closed', found: [] }
let doNotDisturb = false
/** Quality by call. */
const qualities = new Map()

// MARK: Requests

let noticeTimer
function notice(text) {
  setText(find('notice'), text)
  show(find('notice'), true)
  clearTimeout(noticeTimer)
  noticeTimer = setTimeout(() => show(find('notice'), false), 8000)
}

/** Carries out a request of a person; a refusal is shown. */
async function tell(action) {
  try { return await action() } catch (refusal) {
    notice(refusal.status === undefined ? 'The box did not answer.' : refusal.message)
    return undefined
  }
}

const post = (path, body) => tell(() => connection.post(path, body))
const allows = (scope) => connection.allows(scope)

/** Runs an action soon, once for all that ask for it meanwhile. */
function soon(action, milliseconds) {
  let timer = null
  return () => {
    timer ??= setTimeout(() => {
      timer = null
      // The next event asks again.
      action().catch(() => {})
    }, milliseconds)
  }
}

const refresh = soon(async () => {
  status = await connection.get('/status')
  render()
}, 150)

const explain = soon(async () => {
  if (!find('why').open) return
  const { lines } = await connection.get('/why')
  find('why-lines').replaceChildren(...lines.map((line) => make('li', {}, line)))
}, 200)

const measure = soon(async () => {
  for (const { call, state } of status.calls) {
    if (state !== 'active') continue
    const details = await connection.get(`/calls/${call}`)
    if (details.quality) qualities.set(call, details.quality)
  }
  render()
}, 1000)

// MARK: What is shown

function nameOf(device) {
  if (!device) return 'Nowhere'
  const known = devices.find((other) => other.device === device)
  return known ? deviceText(known) : kindText(device.split(':')[0])
}

/** The device of a choice, which may be a kind. */
function nameOfChoice(choice) {
  const fitting = devices.filter(({ kind, available }) => kind === choice && available)
  return fitting.length === 1 ? deviceText(fitting[0]) : nameOf(choice)
}

function renderRoute() {
  const isAway = status.state === 'absent'
  const isOn = status.route != null
  setText(find('route-device'), isAway ? 'btcalld is not running' : isOn ? nameOf(status.route) : status.calls.length > 0 ? 'Nowhere' : 'No call')
  const next = !isOn && !isAway && status.selected && status.calls.length === 0 ? `the next one goes to ${nameOfChoice(status.selected)}` : ''
  setText(find('route-facts'), [
    isOn && reasonText(status.reason), isOn && status.codec, status.mode === 'a2dp' && 'music link',
    status.pending && `connecting to ${nameOf(status.pending)}`, next,
    status.started === false && 'routing is switched off', status.muted && 'muted',
    status.interruptions?.length > 0 && `interrupted by ${status.interruptions.join(', ')}`,
  ].filter(Boolean).join(' · '))
  show(find('why'), !isAway)
}

function press(button, isPressed, text) {
  button.setAttribute('aria-pressed', String(isPressed))
  if (text) setText(button, text)
}

function renderCalls() {
  show(find('no-calls'), status.calls.length === 0)
  keepList(find('call-list'), status.calls, (call) => call.call, newCall)
  setText(find('announcement'), status.calls.map((call) => `${partyText(call)}: ${callText(call.state)}`).join(', '))
  press(find('mute'), status.muted === true)
  press(find('dnd'), doNotDisturb)
  show(find('mute'), allows('calls') && status.calls.length > 0)
  show(find('dnd'), allows('calls'))
  const hasAudio = status.route != null && status.calls.some((call) => call.state === 'active')
  if (!hasAudio) show(find('levels'), false)
}

function renderDevices() {
  // The one with the call, then those that can be used; else in the order of the box.
  const rank = (device) => (device.device === status.route ? 2 : Number(device.available))
  const order = [...devices].sort((one, other) => rank(other) - rank(one))
  keepList(find('device-list'), order, (device) => device.device, newDevice)
  show(find('clear-choice'), allows('route') && isChoice(status) && status.calls.length > 0)
}

function renderPairing() {
  const isOpen = pairing.state !== 'closed'
  setText(find('pairing-text'), isOpen
    ? pairing.state === 'pairing' ? 'A headset is being paired.' : 'Put the headset into pairing mode. The first one that fits is paired.'
    : 'New headsets are refused while this is closed.')
  setText(find('pair'), isOpen ? 'Stop' : 'Pair a headset')
  press(find('pair'), isOpen)
  show(find('pair'), allows('pair'))
  const found = [...pairing.found].sort((one, other) => other.rssi - one.rssi)
  keepList(find('found-list'), isOpen ? found : [], (device) => device.address, foundRow)
}

function renderConnection() {
  const pill = find('connection')
  const isOpen = connection.state === 'open'
  const isWell = isOpen && status.state === 'active'
  setText(pill, isOpen ? { absent: 'btcalld is away' }[status.state] ?? status.state : connection.state === 'waiting' ? 'not connected' : 'connecting')
  pill.className = `pill ${isWell ? 'good' : isOpen && status.state !== 'absent' ? '' : 'bad'}`
  find('status').setAttribute('aria-busy', String(!isOpen))
}

function render() {
  renderConnection()
  renderRoute()
  renderCalls()
  renderDevices()
  renderPairing()
  show(find('problems'), status.problems.length > 0)
  keepList(find('problem-list'), status.problems, (problem) => `${problem.id} ${problem.what}`, problemRow)
  show(find('test-call'), allows('calls'))
}

const newCall = callRow({ post, allows, quality: (call) => qualities.get(call) })
const newDevice = deviceRow({
  choose: (device) => tell(() => connection.put('/route', { device })),
  connect: (address) => post(`/headsets/${address}/connect`),
  allows, status: () => status,
})

// MARK: Events

/** Handles an event of the server, then shows what is so. */
function on(word, handle) {
  connection.addEventListener(word, ({ detail }) => {
    handle(detail)
    render()
  })
}

on('connection', () => {})
on('scopes', () => show(find('access'), false))
on('access', (why) => {
  setText(find('access-text'), why || 'This page needs a token.')
  show(find('access'), true)
  find('token').focus()
})
on('present', (present) => {
  status = { ...absent, ...present.status }
  devices = present.devices
  doNotDisturb = present.doNotDisturb
  pairing = present.pairing
  qualities.clear()
  show(find('access'), false)
  show(find('status'), true)
  explain()
})
on('daemonVanished', () => {
  status = absent
  devices = []
})
on('routeChanged', (change) => {
  status = { ...status, route: change.new, reason: change.reason }
  refresh()
  explain()
})
on('callAdded', (call) => {
  if (!status.calls.some((other) => other.call === call.call)) status = { ...status, calls: [...status.calls, call] }
  refresh()
})
on('callState', ({ call, state }) => {
  status = { ...status, calls: status.calls.map((other) => (other.call === call ? { ...other, state } : other)) }
  refresh()
})
on('callStatus', refresh)
on('callRemoved', ({ call }) => {
  status = { ...status, calls: status.calls.filter((other) => other.call !== call) }
  qualities.delete(call)
  refresh()
})
on('quality', ({ call, score }) => {
  qualities.set(call, { ...qualities.get(call), score })
  measure()
})
on('muted', ({ muted }) => { status = { ...status, muted } })
on('doNotDisturb', (event) => { doNotDisturb = event.doNotDisturb })
on('devices', (event) => {
  devices = event.devices
  refresh()
  explain()
})
on('problems', ({ problems }) => { status = { ...status, problems } })
on('state', refresh)
on('setting', refresh)
on('pairing', (event) => { pairing = { state: event.state, found: event.found } })
on('activationFailed', refresh)
on('tokenRefreshRequested', ({ expiresAt }) => {
  setText(find('access-text'), `The token ends at ${new Date(expiresAt).toLocaleTimeString()}. Enter the next one.`)
  show(find('access'), true)
})
connection.addEventListener('levels', ({ detail }) => {
  show(find('levels'), true)
  for (const [id, level] of [['microphone', detail.said], ['far', detail.heard]]) {
    find(`${id}-level`).value = level ?? -60
    setText(find(`${id}-value`), level == null || level <= -60 ? 'silent' : `${Math.round(level)} dBFS`)
  }
})

// MARK: People

find('access-form').addEventListener('submit', (event) => {
  event.preventDefault()
  connection.use(find('token').value.trim())
  find('token').value = ''
})
find('why').addEventListener('toggle', explain)
for (const [id, action] of Object.entries({
  mute: () => connection.put('/muted', { muted: !status.muted }),
  dnd: () => connection.put('/do-not-disturb', { doNotDisturb: !doNotDisturb }),
  'clear-choice': () => connection.put('/route', { device: null }),
  pair: () => (pairing.state === 'closed' ? connection.post('/pairing', { seconds: 120 }) : connection.remove('/pairing')),
  doctor: examine,
  'test-call': testCall,
})) find(id).addEventListener('click', () => busy(find(id), () => tell(action)))

async function examine() {
  setText(find('check-text'), 'The doctor is looking …')
  try {
    const report = await connection.get('/doctor')
    const counts = [[report.faults, 'fault'], [report.warnings, 'warning'], [report.notes, 'note']].filter(([count]) => count > 0)
      .map(([count, word]) => `${count} ${word}${count === 1 ? '' : 's'}`)
    setText(find('check-text'), `${report.checks.length} checks: ${counts.join(', ') || 'nothing found'}.`)
    keepList(find('finding-list'), report.findings, (finding) => `${finding.check} ${finding.what}`, findingRow)
  } catch (refusal) {
    setText(find('check-text'), 'The doctor could not look.')
    throw refusal
  }
}

async function testCall() {
  setText(find('check-text'), 'A test call: answer it with the button of the headset.')
  keepList(find('finding-list'), [], () => '', findingRow)
  try {
    const call = await connection.post('/test-call', { seconds: 15 })
    const parts = !call.tookPlace ? ['The test call did not take place.'] : [
      call.heard ? `Heard on ${nameOf(call.route)}` : 'No device carried the call',
      call.answeredByPerson ? 'answered by somebody' : 'answered by nobody',
      call.gaps > 0 ? `${call.gaps} gaps, the longest ${call.longestGapMilliseconds} ms` : 'no gap',
    ]
    setText(find('check-text'), parts.join(', ').replace(/\.?$/, '.'))
  } catch (refusal) {
    setText(find('check-text'), 'The test call failed.')
    throw refusal
  }
}

setInterval(() => {
  for (const row of find('call-list').rows?.values() ?? []) row.tick(Date.now())
}, 1000)
// A page that nobody sees needs no levels.
const watchLevels = () => connection.watch(document.visibilityState === 'visible')
document.addEventListener('visibilitychange', watchLevels)
watchLevels()
render()
connection.start()
