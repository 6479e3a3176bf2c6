import xterm from '@xterm/headless';

/** Pictures of text as SVG, without a script and without a style sheet, which some viewers refuse. */

const FONT =
  'font-family="ui-monospace, SFMono-Regular, Menlo, Consolas, monospace" font-size="14" xml:space="preserve"';
const escaped = (text: string): string => text.replace(/[&<>"]/g, (char) => `&#${char.codePointAt(0)};`);

const svg = (width: number, height: number, label: string): string =>
  `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" width="${width}" height="${height}" ` +
  `role="img" aria-label="${label}">`;

/** What a terminal had shown at a time, ms, and the command that was typed in another one below it. */
export interface Shot {
  at: number;
  output: string;
  below: string;
}

/** No screen stays longer than this, ms: a picture is watched, and nothing is waited for. */
const LONGEST_STILL_MS = 2_500;
const LINE_PX = 19;
const CHAR_PX = 8.43;

/** A film of a terminal that takes `ms` and begins again. */
export async function cast(shots: readonly Shot[], size: { cols: number; rows: number }, ms: number): Promise<string> {
  const terminal = new xterm.Terminal({ ...size, allowProposedApi: true, scrollback: 0 });
  const screens: Array<{ at: number; rows: string[] }> = [];
  let written = 0;
  for (const { at, output, below } of shots) {
    await new Promise<void>((resolve) => terminal.write(output.slice(written), resolve));
    written = output.length;
    const { active } = terminal.buffer;
    const rows = Array.from({ length: size.rows }, (_, row) =>
      active.getLine(active.viewportY + row)!.translateToString(true),
    );
    rows.push('', `another terminal $ ${below}`);
    if (rows.join('\n') !== screens.at(-1)?.rows.join('\n')) screens.push({ at, rows });
  }
  const lengths = screens.map(({ at }, index) =>
    Math.min((screens[index + 1]?.at ?? at + LONGEST_STILL_MS) - at, LONGEST_STILL_MS),
  );
  const whole = lengths.reduce((sum, length) => sum + length, 0);
  const [width, height] = [Math.ceil(size.cols * CHAR_PX) + 32, (size.rows + 3) * LINE_PX + 16];
  let begins = 0;
  const frames = screens.map(({ rows }, index) => {
    const [from, to] = [begins / whole, (begins + lengths[index]!) / whole];
    begins += lengths[index]!;
    const shown =
      index === 0
        ? `values="inline;none" keyTimes="0;${to.toFixed(4)}"`
        : `values="none;inline;none" keyTimes="0;${from.toFixed(4)};${Math.min(to, 0.9999).toFixed(4)}"`;
    const lines = rows.flatMap((text, row) =>
      text.trim() === '' ? [] : [`<text x="16" y="${(row + 1) * LINE_PX + 8}"${colorOf(text)}>${escaped(text)}</text>`],
    );
    // a viewer that shows no films shows the last screen
    const still = index === screens.length - 1 ? '' : ' display="none"';
    const again = `dur="${ms}ms" repeatCount="indefinite"`;
    const film = `<animate attributeName="display" ${shown} calcMode="discrete" ${again}/>`;
    return `<g${still}>${film}${lines.join('')}</g>`;
  });
  const bar = (size.rows + 1) * LINE_PX + 2;
  return `${svg(width, height, 'A question stays open while the processes are killed')}
<rect width="${width}" height="${height}" rx="8" fill="#101418"/>
<path d="M0 ${bar}h${width}" stroke="#39424c"/>
<g ${FONT} fill="#d7dde3">
${frames.join('\n')}
</g>
</svg>
`;
}

function colorOf(text: string): string {
  if (/\$ kill/.test(text)) return ' fill="#ff8f87"';
  return /reconnecting|connected again/.test(text) ? ' fill="#8fdc9a"' : '';
}

/** A message of a chat, as a phone shows it. */
export interface Message {
  mine: boolean;
  text: string;
}

const PHONE_PX = 390;
const GAP_PX = 20;
const BUBBLE_CHARS = 36;
const TEXT_PX = 20;

/** A chat on a phone: two screens of it, the earlier one on the left. */
export function phone(title: string, label: string, messages: readonly Message[]): string {
  const bubbles = messages.map(({ mine, text }) => {
    const lines = text.split('\n').flatMap((line) => wrapped(line, BUBBLE_CHARS));
    return { mine, lines, height: lines.length * TEXT_PX + 26 };
  });
  const half = bubbles.reduce((sum, { height }) => sum + height, 0) / 2;
  let above = 0;
  const screens: [Bubble[], Bubble[]] = [[], []];
  for (const bubble of bubbles) {
    screens[above < half ? 0 : 1].push(bubble);
    above += bubble.height;
  }
  const height = 70 + Math.max(...screens.map((screen) => screen.reduce((sum, each) => sum + each.height, 0)));
  return `${svg(2 * PHONE_PX + GAP_PX, height, label)}
<g font-family="system-ui, -apple-system, 'Segoe UI', sans-serif" font-size="15" fill="#111b21" xml:space="preserve">
${screens.map((screen, at) => screenOf(title, screen, at * (PHONE_PX + GAP_PX), height)).join('\n')}
</g>
</svg>
`;
}

interface Bubble {
  mine: boolean;
  lines: string[];
  /** with the space below it, px */
  height: number;
}

function screenOf(title: string, bubbles: readonly Bubble[], left: number, height: number): string {
  let top = 64;
  const drawn = bubbles.map((bubble) => {
    const width = Math.min(330, Math.max(...bubble.lines.map((line) => line.length)) * 8.2 + 28);
    const [x, y] = [bubble.mine ? PHONE_PX - width - 12 : 12, top];
    top += bubble.height;
    const lines = bubble.lines.map(
      (line, row) => `<text x="${x + 14}" y="${y + 22 + row * TEXT_PX}">${escaped(line)}</text>`,
    );
    const place = `x="${x}" y="${y}" width="${width}" height="${bubble.height - 10}" rx="10"`;
    return `<rect ${place} fill="${bubble.mine ? '#d9fdd3' : '#ffffff'}"/>${lines.join('')}`;
  });
  return `<g transform="translate(${left} 0)"><rect width="${PHONE_PX}" height="${height}" rx="16" fill="#efeae2"/>
<path d="M0 16a16 16 0 0 1 16-16h${PHONE_PX - 32}a16 16 0 0 1 16 16v36h-${PHONE_PX}z" fill="#008069"/>
<text x="20" y="33" font-size="18" font-weight="600" fill="#ffffff">${escaped(title)}</text>
${drawn.join('\n')}
</g>`;
}

/** Lines of at most so many characters; a longer word has a line of its own. */
function wrapped(text: string, most: number): string[] {
  const lines = [''];
  for (const word of text.split(' ')) {
    const last = lines.at(-1)!;
    if (last !== '' && last.length + 1 + word.length > most) lines.push(word);
    else lines[lines.length - 1] = last === '' ? word : `${last} ${word}`;
  }
  return lines;
}
