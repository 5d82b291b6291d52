// The status page with the real btcall-web in front of the daemon's code and simulated headsets (box.mjs), while a call takes the
// four steps of the demo.

import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'

import { Box, stalled } from './box.mjs'
import { Browser } from './browser.mjs'

let box
let browser
let shown
let lags
before(async () => {
  box = await Box.start()
  browser = await Browser.start()
  await browser.view({ width: 1280, height: 800, scheme: 'light' })
})
after(async () => {
  await browser?.close()
  await box?.stop()
})

// In the page: what it shows, with the time of each change; and when its own thread could not run.
const follow = `(() => {
  window.shown = []
  window.lags = []
  const text = (id) => document.getElementById(id).textContent
  const look = () => shown.push({
    at: Date.now(), device: text('route-device'), facts: text('route-facts'),
    carrying: [...document.querySelectorAll('#device-list li')].filter((row) => row.textContent.includes('carries the call'))
      .map((row) => row.querySelector('h3').textContent).join(),
  })
  new MutationObserver(look).observe(document.getElementById('status'), { childList: true, characterData: true, attributes: true, subtree: true })
  look()
  let before = performance.now()
  setInterval(() => {
    const now = performance.now()
    if (now - before > 40) lags.push({ at: Date.now(), milliseconds: now - before - 20 })
    before = now
  }, 20)
})()`

test('it shows where the call is and why, at each of the four steps', (t) => box.judge(t, async () => {
  await browser.open(`${box.url}/#token=${box.token}`)
  await browser.until(`document.getElementById('connection').textContent === 'active'`)
  await browser.value(follow)
  const row = (name) => `[...document.querySelectorAll('#device-list li')].find((row) => row.querySelector('h3').textContent === '${name}')?.textContent`
  const shows = async (condition) => {
    try { await browser.until(condition) } catch (error) {
      throw new Error(`${error.message}; the page shows:\n${await browser.value(`document.getElementById('status').innerText`)}\n${box.lines.join('\n')}`)
    }
  }
  const steps = [
    ['o', 'earpiece', 'Handset', 'a call began'],
    ['1', 'headset 1', 'headset 1', 'a better device became available'],
    ['k', 'earpiece', 'Handset', 'nothing arrived from the device before'],
    ['2', 'headset 2', 'headset 2', 'a better device became available'],
  ]
  for (const [key, device, name, reason] of steps) {
    box.press(key)
    await box.story(new RegExp(`the call is on: ${device}`))
    await shows(`document.getElementById('route-device').textContent === '${name}'`)
    await shows(`document.getElementById('route-facts').textContent.includes('${reason}')`)
    await shows(`${row(name)}.includes('carries the call')`)
    if (key === 'o') await box.story(/the call is active/)
    // Its silence is known at once, its absence when bluetoothd misses it.
    if (key === 'k') await shows(`${row('headset 1')}.includes('not available')`)
  }
  await shows(`/Control room.*active/s.test(document.getElementById('call-list').innerText)`)
  await shows(`document.getElementById('route-facts').textContent.includes('CVSD')`)
  box.press('n')
  await box.story(/the button of headset 2: hang up/)
  await shows(`document.getElementById('route-device').textContent === 'No call'`)
  await shows(`document.getElementById('route-facts').textContent.includes('the next one goes to headset 2')`)
  await shows(`document.getElementById('no-calls').checkVisibility()`)
  assert.deepEqual(browser.problems, [])
  ;[shown, lags] = await browser.value('[shown, lags]')
}))

test('name, route and reason are in the page within 500 ms of the signal on the bus', async (t) => {
  if (!shown) return t.skip('the call of the demo was not shown')
  const names = { earpiece: 'Handset', 'bluetooth:00:00:5E:00:53:01': 'headset 1', 'bluetooth:00:00:5E:00:53:02': 'headset 2' }
  const words = await browser.value(`import('/page/words.js').then(({ reasonText }) => (${JSON.stringify(box.signals)}).map(({ reason }) => reasonText(reason)))`)
  const delays = []
  let unjudged = null
  for (const [index, { at, device, reason }] of box.signals.entries()) {
    if (device === 'none') continue
    const isShown = (entry) => entry.device === names[device] && entry.carrying === names[device] && entry.facts.includes(words[index])
    // The page may be ahead of dbus-monitor.
    const before = shown.filter((entry) => entry.at < at).at(-1)
    const entry = before && isShown(before) ? before : shown.find((entry) => entry.at >= at && isShown(entry))
    const delay = Math.max(0, Math.round((entry?.at ?? Infinity) - at))
    const longest = Math.max(box.longestStall(at, at + 1000), box.longestStall(at, at + 1000, lags))
    delays.push(`${names[device]}, ${reason}: ${delay} ms`)
    if (delay < 500) continue
    assert.ok(longest >= stalled, `${delays.at(-1)}; the machine stood still for ${longest} ms\n${JSON.stringify(shown, null, 1)}`)
    unjudged = `${delays.at(-1)}, and the machine stood still for ${longest} ms`
  }
  t.diagnostic(`measured: ${delays.join('; ')}`)
  assert.ok(delays.length >= 4, `${JSON.stringify(box.signals)}`)
  if (unjudged) t.skip(unjudged)
})
