/** Small pages without scripts, styles or anything of the owner. */

const notice = (title: string, lines: string[]): { type: string; data: string } => ({
  type: 'text/html; charset=utf-8',
  data: `<!doctype html>
<html lang="en"><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1"><meta name="color-scheme" content="light dark">
<title>Fetch</title>
<main><h1>${title}</h1>
${lines.map((line) => `<p>${line}</p>`).join('\n')}
</main></html>
`,
});

/** @param hadCookie the browser was let in before, so its session has ended, or the token is another one now */
export const notLoggedIn = (hadCookie: boolean) =>
  notice(hadCookie ? 'This browser is not let in any more' : 'This browser is not let in yet', [
    'On the machine that runs Fetch, write <code>fetch open</code> (in a clone: <code>npm run -s fetch -- open</code>). It prints a link.',
    'Open that link here, once. The browser then remembers it.',
  ]);

export const NOT_BUILT = notice('The page is not built', [
  'In a clone, <code>npm ci</code> builds it. Install with the packages of developers, or write <code>npm run bundle</code>, and start Fetch again.',
]);
