import { type DiffLine, diffLines } from './diff.ts';
import { visible } from './foreign-text.ts';

/** A difference as pages that a browser makes pictures of: one for each file, as wide as a phone. */

interface FilePage {
  path: string;
  /** whole, with nothing that loads or runs */
  html: string;
}

const MOST_FILES = 5;
const MOST_LINES = 150;
const LINE_CHARS = 400;
/** In CSS pixels. */
export const PHONE_WIDTH = 420;

const STYLE = `*{box-sizing:border-box}body{margin:0;background:#fff;color:#1f2328;font:13px/1.5 "Liberation Mono","Noto Sans Mono","Noto Sans CJK SC",monospace}
h1{margin:0;padding:10px;background:#24292f;color:#fff;font-size:14px;overflow-wrap:anywhere}h1 b{color:#7ee787}h1 i{color:#ff9c94;font-style:normal}
div{padding:0 10px;min-height:1.5em;white-space:pre-wrap;overflow-wrap:anywhere}.added{background:#dafbe1}.removed{background:#ffebe9}.hunk{background:#eef1f4;color:#59636e}
mark{color:inherit;font-weight:bold;border-radius:2px}.added mark{background:#7ee2a0}.removed mark{background:#ffb3ad;text-decoration:line-through}`;

/** `left`: files that have no page. */
export function diffPages(diff: string): { pages: FilePage[]; left: number } {
  const files = diff.split(/^(?=diff --git )/m).filter((part) => part.startsWith('diff --git '));
  return { pages: files.slice(0, MOST_FILES).map(pageOf), left: Math.max(0, files.length - MOST_FILES) };
}

function pageOf(diff: string): FilePage {
  const all = diffLines(diff);
  const path = pathIn(diff);
  const isShown = ({ kind, text }: DiffLine): boolean =>
    kind === 'file' ? /^(?:Binary |rename |new file|deleted file)/.test(text) : !text.startsWith('\\ ');
  const first = all.findIndex(({ kind }) => kind === 'hunk');
  const lines = all
    .filter((line, at) => at !== first && isShown(line))
    .map((line) => (line.kind === 'hunk' ? { ...line, text: '…' } : line));
  const count = (wanted: string) => lines.filter(({ kind }) => kind === wanted).length;
  const shown = lines.slice(0, MOST_LINES).map(({ kind, text, changed }) => {
    if (!changed || text.length > LINE_CHARS) return `<div class="${kind}">${escaped(cutLine(text))}</div>`;
    const [from, to] = changed;
    const parts = [text.slice(0, from), text.slice(from, to), text.slice(to)].map(escaped);
    return `<div class="${kind}">${parts[0]}<mark>${parts[1]}</mark>${parts[2]}</div>`;
  });
  const more = lines.length - shown.length;
  const head = `<h1>${escaped(path)} <b>+${count('added')}</b> <i>−${count('removed')}</i></h1>`;
  const rest = more > 0 ? [`<div class="hunk">… ${more} more lines</div>`] : [];
  return { path, html: `<style>${STYLE}</style><body>${[head, ...shown, ...rest].join('')}</body>` };
}

/** As git writes it where a name has nothing special; else as it stands in its first line. */
const pathIn = (diff: string): string =>
  /^\+\+\+ b\/(.+)$/m.exec(diff)?.[1] ?? /^--- a\/(.+)$/m.exec(diff)?.[1] ?? /^diff --git (.+)$/m.exec(diff)![1]!;

const cutLine = (text: string): string => (text.length > LINE_CHARS ? `${text.slice(0, LINE_CHARS)}…` : text);

const escaped = (text: string): string => visible(text).replace(/[&<>"']/g, (sign) => `&#${sign.charCodeAt(0)};`);
