import { chromium } from 'playwright-core';
const [,, ...args] = process.argv; // name=hash pairs
const b = await chromium.launch({ executablePath: '/usr/bin/chromium', args: ['--no-sandbox'] });
const want = process.env.ONLY ?? 'dl,pd';
for (const [k, vp, scheme] of [['dl', {width:1240,height:800}, 'light'], ['dd', {width:1240,height:800}, 'dark'], ['pl', {width:390,height:800}, 'light'], ['pd', {width:390,height:800}, 'dark']]) {
  if (!want.split(',').includes(k)) continue;
  const c = await b.newContext({ viewport: vp, colorScheme: scheme, isMobile: k[0]==='p', hasTouch: k[0]==='p' });
  const p = await c.newPage();
  p.on('console', m => console.log(k, m.type(), m.text().slice(0,300))); p.on('pageerror', e => console.log(k,'ERR', e.message.slice(0,500)));
  await p.goto('http://localhost:27878/?token=pagetoken'); await p.waitForSelector('.shell');
  for (const a of args) { const [n,h] = a.split('='); await p.goto('http://localhost:27878/#'+h); await p.waitForTimeout(1500);
    await p.screenshot({ path: `/tmp/w/page-tmp/shots/${n}-${k}.png` }); }
  await c.close();
}
await b.close();
