// The status page in Chromium, with the recorded state: what it shows, what it asks for, and how it is used without a mouse.

import assert from 'node:assert/strict'
import { existsSync, readFileSync } from 'node:fs'
import { after, afterEach, before, test } from 'node:test'

import { Browser } from './browser.mjs'
import { serve } from './serve.mjs'

let browser
let server
before(async () => {
  browser = await Browser.start()
  await browser.view({ width: 1280, height: 800, scheme: 'light' })
})
after(() => browser.close())
afterEach(async () => {
  await browser.open('about:blank')
  server.close()
  const found = browser.problems.splice(0)
  assert.deepEqual(found.filter((problem) => !/status of 401/.test(problem)), [], 'errors of the page')
})

const text = (id) => browser.value(`document.getElementById('${id}').innerText`)
const isShown = (id) => `(document.getElementById('${id}')?.checkVisibility())`

async function open({ token, change = () => {} } = {}) {
  server = await serve()
  change(server.state)
  await browser.open('about:blank')
  browser.requests = []
  await browser.open(`${server.url}#token=${token ?? server.token}`)
  await browser.until(token ? isShown('access') : `${isShown('status')} && document.querySelector('#device-list li')`)
}

test('it shows route and reason, devices with battery and codec, calls with quality, levels and problems', async () => {
  await open()
  await browser.until(`/packets/.test(document.getElementById('call-list').innerText) && ${isShown('levels')}`)
  assert.match(await text('route'), /Jabra Evolve2 65\s+a better device became available · mSBC/)
  assert.match(await text('device-list'), /Jabra Evolve2 65.*carries the call.*mSBC · volume 11 of 15.*80 %/s)
  assert.match(await text('call-list'), /Front door.*good sound.*active.*3 of 666 packets lost, 23 ms concealed/s)
  assert.match(await text('levels'), /Microphone\s+-21 dBFS\s+Far end\s+-33 dBFS/)
  assert.match(await text('problems'), /PipeWire also registers.*give headsets to btcalld: see btcall doctor/s)
  assert.match(await text('found-list'), /Plantronics Voyager 5200.*near.*00:00:5E:00:53:08.*far/s)
})

test('nothing is asked of another host, and the token leaves the address', async () => {
  await open()
  const own = new URL(server.url).host
  assert.deepEqual([...new Set(browser.requests.filter((url) => url.startsWith('http') || url.startsWith('ws')).map((url) => new URL(url).host))], [own])
  assert.equal(await browser.value('location.href'), server.url)
  assert.ok(browser.requests.every((url) => url === `${server.url}#token=${server.token}` || !url.includes(server.token)))
})

test('names of others are text', async () => {
  await open()
  assert.equal(await browser.value(`document.querySelectorAll('main b, main script, main img').length`), 0)
  assert.match(await text('device-list'), /Workshop <b>headset<\/b> of the second shift/)
})

test('a change of the route is shown within 500 ms, with name and reason', async () => {
  await open()
  const times = []
  // The best of five: a machine that stood still in one of them is not the page's delay.
  for (const [device, name] of [['earpiece', 'Handset'], ['speakerphone', 'Loudspeaker'], ['earpiece', 'Handset'], ['speakerphone', 'Loudspeaker'], ['earpiece', 'Handset']]) {
    await browser.value(`window.shown = new Promise((resolve) => {
      const watcher = new MutationObserver(() => {
        if (!/${name}[^]*the link to the headset was lost/.test(document.getElementById('route').innerText)) return
        watcher.disconnect()
        resolve(Date.now())
      })
      watcher.observe(document.getElementById('route'), { childList: true, characterData: true, subtree: true })
    }); 0`)
    const sent = Date.now()
    server.state.status = { ...server.state.status, route: device, codec: null, reason: 'linkLoss' }
    server.send({ event: 'routeChanged', old: null, new: device, reason: 'linkLoss' })
    times.push((await browser.value('window.shown')) - sent)
    assert.match(await text('route'), new RegExp(`${name}\\s+the link to the headset was lost`))
  }
  assert.ok(Math.min(...times) < 500, `${times} ms`)
})

test('a call is followed from its first ring to its end, and a screen reader hears of it', async () => {
  await open({ change: (state) => { state.status.calls = []; state.status.route = null } })
  assert.match(await text('route'), /No call\s+the next one goes to Jabra Evolve2 65/)
  const call = {
    call: '9ba7b810-9dad-41d1-80b4-00c04fd430c8', state: 'ringing', callStatus: 'ringing', direction: 'incoming', number: '200', name: 'Back door',
    provider: 'Kiosk', index: 1, startedAt: null, accountId: null, userId: null, icon: null,
  }
  server.state.status.calls = [call]
  server.send({ event: 'callAdded', ...call })
  await browser.until(`document.querySelector('#call-list h3')?.innerText === 'Back door'`)
  assert.equal(await text('announcement'), 'Back door: ringing')
  await browser.value(`document.querySelector('#call-list button').click()`)
  await browser.until(`!document.querySelector('#call-list button').ariaDisabled`)
  assert.ok(server.requests.includes(`POST /v1/calls/${call.call}/answer`), `${server.requests}`)
  server.state.status = { ...server.state.status, calls: [{ ...call, state: 'active', callStatus: 'inCall', startedAt: new Date().toISOString() }], route: 'earpiece' }
  server.send({ event: 'callState', call: call.call, state: 'active', reason: null })
  await browser.until(`/0:0\\d/.test(document.querySelector('#call-list [role=timer]').innerText)`)
  assert.equal(await text('announcement'), 'Back door: active')
  server.state.status = { ...server.state.status, calls: [], route: null }
  server.send({ event: 'callRemoved', call: call.call, reason: 'remoteHangUp' })
  await browser.until(isShown('no-calls'))
})

test('the row under the keyboard stays when the list changes', async () => {
  await open()
  await browser.value(`document.querySelectorAll('#device-list button:not([hidden])')[0].focus()`)
  const name = await browser.value('document.activeElement.ariaLabel')
  assert.match(name, /^Use for the call: /)
  server.send({ event: 'devices', devices: [...server.state.devices].reverse() })
  await browser.until(`document.querySelector('#device-list li:nth-child(2) h3').innerText === 'Handset'`)
  assert.equal(await browser.value('document.activeElement.ariaLabel'), name)
})

test('the doctor and the test call report in words', async () => {
  await open()
  await browser.value(`document.getElementById('doctor').click()`)
  await browser.until(`document.querySelector('#finding-list li')`)
  assert.match(await text('check'), /38 checks: 1 fault, 1 note\..*PipeWire takes the headset.*fault.*systemctl --user restart wireplumber/s)
  await browser.value(`document.getElementById('test-call').click()`)
  await browser.until(`/no gap/.test(document.getElementById('check-text').innerText)`)
  assert.equal(await text('check-text'), 'Heard on Jabra Evolve2 65, answered by somebody, no gap.')
})

test('without the scopes nothing is offered that would be refused', async () => {
  await open({ change: (state) => { state.scopes = ['read'] } })
  const offered = await browser.value(`[...document.querySelectorAll('main button')].filter((button) => button.checkVisibility()).map((button) => button.innerText)`)
  assert.deepEqual(offered, ['Run the doctor'])
})

test('a token that is refused is asked for, with the reason; the next one is used and kept for a reload', async () => {
  await open({ token: 'old' })
  assert.match(await text('access'), /the token expired 70 s ago/)
  assert.equal(await browser.value('document.activeElement.id'), 'token')
  await browser.value(`document.getElementById('token').value = '${server.token}'; document.querySelector('#access-form button').click()`)
  await browser.until(`${isShown('status')} && !${isShown('access')}`)
  await browser.open(server.url)
  await browser.until(`${isShown('status')} && !${isShown('access')}`)
})

test('after a cut it comes back with the present state', async () => {
  await open()
  server.state.status = { ...server.state.status, calls: [], route: null }
  for (const socket of server.sockets) socket.terminate()
  await browser.until(isShown('no-calls'))
  assert.equal(await text('connection'), 'active')
})

test('it fits into a telephone and a kiosk without scrolling sideways, and every button is large enough for a finger', async () => {
  for (const [width, height] of [[320, 568], [390, 844], [1280, 800]]) {
    await browser.view({ width, height, scheme: 'light' })
    await open()
    assert.ok(await browser.value(`document.documentElement.scrollWidth <= ${width}`), `${width}`)
    const small = await browser.value(`[...document.querySelectorAll('button')].filter((button) => button.checkVisibility()).filter((button) => {
      const { width, height } = button.getBoundingClientRect()
      return width < 44 || height < 44
    }).map((button) => button.innerText)`)
    assert.deepEqual(small, [])
    await browser.open('about:blank')
    server.close()
  }
  await browser.view({ width: 1280, height: 800, scheme: 'light' })
})

// Tests/Web/run names it (environment.sh).
const axe = process.env.AXE
test('axe finds nothing serious, light and dark', { skip: axe && existsSync(axe) ? false : 'AXE names no axe.min.js' }, async () => {
  for (const scheme of ['light', 'dark']) {
    await browser.view({ width: 390, height: 844, scheme })
    await open()
    await browser.value(`document.getElementById('doctor').click(); document.getElementById('why').open = true`)
    await browser.until(`document.querySelector('#finding-list li') && document.querySelector('#why-lines li')`)
    await browser.value(readFileSync(axe, 'utf8') + '; true')
    const found = await browser.value(`axe.run().then(({ violations }) => violations.map((rule) => rule.impact + ' ' + rule.id + ': ' + rule.nodes.map((node) => node.html).join(' ')))`)
    assert.deepEqual(found, [])
    await browser.open('about:blank')
    server.close()
  }
})
