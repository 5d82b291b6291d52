// Pictures of the status page with the recorded state, in both sizes and both schemes.
//     node Tests/Web/pictures.mjs FOLDER

import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { Browser } from './browser.mjs'
import { serve } from './serve.mjs'

const folder = process.argv[2] ?? '.'
mkdirSync(folder, { recursive: true })
const server = await serve()
const browser = await Browser.start()
for (const [name, width, height] of [['telephone', 390, 844], ['kiosk', 1280, 800]]) {
  for (const scheme of ['light', 'dark']) {
    await browser.view({ width, height, scheme })
    await browser.open('about:blank')
    await browser.open(`${server.url}#token=${server.token}`)
    await browser.until(`document.querySelector('#call-list li .number')?.textContent && !document.getElementById('levels').hidden && /packets/.test(document.getElementById('call-list').textContent)`)
    await browser.value(`document.getElementById('why').open = true; document.getElementById('doctor').click()`)
    await browser.until(`document.querySelector('#finding-list li') && document.querySelector('#why-lines li')`)
    writeFileSync(join(folder, `${name}-${scheme}.png`), await browser.picture())
    writeFileSync(join(folder, `${name}-${scheme}-whole.png`), await browser.picture(true))
  }
}
console.log([...new Set(browser.problems)].join('\n') || 'no error of the page')
await browser.close()
server.close()
process.exit(0)
