// Examples/kiosk in Chromium: a WebRTC call between both pages, answered and ended as by a headset's button, and found again after
// a reload. The server's half of the protocol is played here; the microphone is Chromium's simulated one, which beeps.

import assert from 'node:assert/strict'
import { test } from 'node:test'

import { Browser } from './browser.mjs'
import { serve } from './serve.mjs'

test('the door calls, a button answers, a reload finds the call, a button ends it', async () => {
  const replies = []
  let call = null
  const results = {
    register: () => ({ calls: call ? [call] : [] }),
    reportIncoming: ({ number, name }) => (call = { call: 'a', state: 'ringing', direction: 'incoming', number, name, provider: 'Kiosk' }),
    update: (message) => ({ call: message.call, state: message.state }),
  }
  const server = await serve(0, results, (message) => { if ('done' in message || 'refused' in message) replies.push(message) })
  server.state.status = { ...server.state.status, calls: [] }
  const browser = await Browser.start([
    '--use-fake-ui-for-media-stream', '--use-fake-device-for-media-stream', '--autoplay-policy=no-user-gesture-required',
    '--disable-features=WebRtcHideLocalIpsWithMdns',
  ])
  const asked = async (id) => {
    const begin = Date.now()
    while (!replies.some((message) => message.done === id || message.refused === id)) {
      assert.ok(Date.now() - begin < 20_000, `no reply to ${id}`)
      await new Promise((resolve) => setTimeout(resolve, 20))
    }
    return replies.find((message) => message.done === id || message.refused === id)
  }
  try {
    const kiosk = browser.session
    await browser.open(`${server.url}pages/index.html#token=${server.token}`)
    await browser.until(`document.getElementById('state')?.textContent === 'telephone: open'`)
    const door = await browser.tab()
    await browser.open(`${server.url}pages/door.html#tone=800`)
    await browser.until(`document.getElementById('state')?.textContent === 'idle' && document.readyState === 'complete'`)
    await browser.value(`document.getElementById('ring').click()`)
    browser.session = kiosk
    await browser.until(`document.getElementById('state')?.textContent === 'Front door: ringing'`, 20_000)

    server.send({ ask: 'answer', id: 1, call: 'a' })
    assert.deepEqual(await asked(1), { done: 1 })
    call = { ...call, state: 'active' }
    server.send({ event: 'callState', call: 'a', state: 'active', reason: null })
    await browser.until(`document.getElementById('state')?.textContent === 'Front door: active'`)
    // The door's tone is what the kiosk plays.
    await browser.until(`document.getElementById('far').srcObject?.getAudioTracks()[0].muted === false`, 20_000)
    browser.session = door
    await browser.until(`/^connected, the kiosk is at 0\\.(?!000)/.test(document.getElementById('state')?.textContent)`, 20_000)

    browser.session = kiosk
    await browser.send('Page.reload')
    await browser.until(`document.getElementById('state')?.textContent === 'Front door: active'`, 20_000)
    await browser.until(`document.getElementById('far').srcObject?.getAudioTracks()[0].muted === false`, 20_000)

    server.send({ ask: 'end', id: 2, call: 'a', reason: 'localHangUp' })
    assert.deepEqual(await asked(2), { done: 2 })
    server.send({ event: 'callState', call: 'a', state: 'ended', reason: 'localHangUp' })
    await browser.until(`document.getElementById('state')?.textContent === 'telephone: open'`)
    browser.session = door
    await browser.until(`document.getElementById('state')?.textContent === 'idle'`)
    assert.deepEqual(browser.problems.filter((problem) => !problem.endsWith('/favicon.ico')), [])
  } finally {
    await browser.close()
    server.close()
  }
})
