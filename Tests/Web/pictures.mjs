// Pictures of the status page with the recorded state, in both sizes and both schemes: status-kiosk-light.png. With --whole also of
// all that scrolling shows. Those of docs/images are made smaller then: pngquant --force --ext .png --speed 1 64 docs/images/status-*.png
//     node Tests/Web/pictures.mjs FOLDER [--whole]

import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { Browser } from './browser.mjs'
import { serve } from './serve.mjs'

const folder = process.argv[2] ?? '.'
mkdirSync(folder, { recursive: true })
const server = await serve()
for (const [index, call] of server.state.status.calls.entries()) call.startedAt = new Date(Date.now() - [245, 1270][index] * 1000).toISOString()
server.state.devices[3].name = 'Workshop headset'
const browser = await Browser.start(['--hide-scrollbars'])
for (const [name, width, height] of [['telephone', 390, 844], ['kiosk', 1280, 800]]) {
  for (const scheme of ['light', 'dark']) {
    await browser.view({ width, height, scheme })
    await browser.open('about:blank')
    await browser.open(`${server.url}#token=${server.token}`)
    await browser.until(`document.querySelector('#call-list li .number')?.textContent && !document.getElementById('levels').hidden && /packets/.test(document.getElementById('call-list').textContent)`)
    await browser.value(`document.getElementById('why').open = true; document.getElementById('doctor').click()`)
    await browser.until(`document.querySelector('#finding-list li') && document.querySelector('#why-lines li')`)
    writeFileSync(join(folder, `status-${name}-${scheme}.png`), await browser.picture())
    if (process.argv[3] === '--whole') writeFileSync(join(folder, `status-${name}-${scheme}-whole.png`), await browser.picture(true))
  }
}
console.log([...new Set(browser.problems)].join('\n') || 'no error of the page')
await browser.close()
server.close()
process.exit(0)
