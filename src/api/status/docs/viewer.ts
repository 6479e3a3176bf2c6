import { escapeHtml } from './html.ts';

/** The page that shows the others. It loads nothing from elsewhere. */

/** `pages`: name and title, in the order of the menu. */
export const viewerHtml = (pages: ReadonlyArray<{ name: string; title: string }>): string =>
  [
    '<!doctype html>',
    '<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1"><title>Fetch</title>',
    '<link rel="stylesheet" href="viewer.css"></head><body><nav>',
    ...pages.map(({ name, title }) => `<a href="#${name}">${escapeHtml(title)}</a>`),
    '</nav><main id="page"></main><script src="viewer.js"></script></body></html>',
    '',
  ].join('\n');

/** The part behind `#` is the name of a page, and after a slash the id of one of its headings. */
export const VIEWER_JS = `const page = document.getElementById('page');
const menu = document.querySelector('nav');
let shown = null;
async function show() {
  const [name, heading] = decodeURIComponent(location.hash.slice(1) || 'README').split('/');
  if (name !== shown) {
    const answer = await fetch(encodeURIComponent(name) + '.html');
    page.innerHTML = answer.ok ? await answer.text() : '<p>There is no such page.</p>';
    for (const link of page.querySelectorAll('a[data-here]')) link.href = '#' + name + '/' + link.getAttribute('href').slice(1);
    for (const link of menu.children) link.ariaCurrent = link.hash === '#' + name ? 'page' : null;
    document.title = [page.querySelector('h1')?.textContent, 'Fetch'].filter(Boolean).join(' - ');
    menu.querySelector('[aria-current=page]')?.scrollIntoView({ block: 'nearest', inline: 'center' });
    shown = name;
  }
  const at = heading && document.getElementById(heading);
  if (at) at.scrollIntoView();
  else scrollTo(0, 0);
}
addEventListener('hashchange', show);
show();
`;

export const VIEWER_CSS = `body { display: flex; gap: 2rem; max-width: 70rem; margin: 0 auto; padding: 1rem; font: 16px/1.5 system-ui, sans-serif; color-scheme: light dark; }
nav { display: flex; flex-direction: column; gap: .4rem; flex: 0 0 14rem; position: sticky; top: 1rem; align-self: flex-start; }
nav a { text-decoration: none; }
nav a[aria-current=page] { font-weight: bold; }
main { min-width: 0; overflow-wrap: anywhere; }
li { margin: .2rem 0; }
pre, code { font-family: ui-monospace, monospace; font-size: .9em; }
code { padding: .1em .3em; border-radius: 4px; background: #8882; }
pre code { padding: 0; background: none; }
.arrows { list-style: none; padding: .8rem; border: 1px solid #8886; border-radius: 6px; }
.arrows small { opacity: .7; margin-left: .5em; }
pre { overflow-x: auto; padding: .8rem; border: 1px solid #8886; border-radius: 6px; }
table { border-collapse: collapse; display: block; overflow-x: auto; }
th, td { min-width: 5rem; overflow-wrap: normal; border: 1px solid #8886; padding: .3rem .6rem; text-align: left; vertical-align: top; }
img { max-width: 100%; }
@media (max-width: 50rem) {
  body { flex-direction: column; gap: .5rem; }
  nav { position: static; flex: none; align-self: stretch; flex-direction: row; gap: 1rem; overflow-x: auto; white-space: nowrap; padding-bottom: .5rem; border-bottom: 1px solid #8886; }
}
`;
