/**
 * The text that a person decides by. Nothing in it can be invisible, move the cursor, turn the direction of reading, or
 * look like our own words. Every character of it is shown.
 */

/** Characters of one page: what a phone shows without making a file of it. */
const PAGE = 3_000;
const EMPTY_LINES = 4;
/** Put before each line, so that nothing that an agent or a model wrote begins a line. */
const MARGIN = '│ ';

/** Characters that show nothing, or change how others look. Line feeds and tabs are left. */
const HIDDEN =
  /[\x00-\x08\x0b-\x1f\x7f-\x9f]|(?! )[\p{Cf}\p{Zl}\p{Zp}\p{Zs}\p{Co}\p{Cs}]|[\u034f\u115f\u1160\u17b4\u17b5\u2800\u3164\uffa0]|\p{Variation_Selector}/gu;

const named = (character: string): string => {
  const code = character.codePointAt(0)!;
  if (code === 0x0d) return '␍';
  // an emoji needs it, and it hides nothing
  if (code === 0xfe0f) return character;
  return `⟨U+${code.toString(16).toUpperCase().padStart(4, '0')}⟩`;
};

/** A text in which every hidden character is named. */
export const visible = (text: string): string =>
  withoutGaps(text.replace(HIDDEN, named))
    .replace(/ {24,}/g, (run) => ` ⟨${run.length} spaces⟩ `)
    .replace(/\t{8,}/g, (run) => ` ⟨${run.length} tabs⟩ `)
    .replace(/`{3,}|~{3,}/g, (run) => `⟨${run.length} × ${run[0]}⟩`);

/** Replaces a run of empty lines by their number, so that nothing can hide far below. */
function withoutGaps(text: string): string {
  const lines: string[] = [];
  let empty = 0;
  const fill = () => {
    if (empty > EMPTY_LINES) lines.push(`⟨${empty} empty lines⟩`);
    else for (let at = 0; at < empty; at += 1) lines.push('');
    empty = 0;
  };
  for (const line of text.split('\n')) {
    if (line.trim() === '' && line.length < 24) {
      empty += 1;
      continue;
    }
    fill();
    lines.push(line);
  }
  fill();
  return lines.join('\n');
}

/** The same on one line: a name, a path. */
export const visibleLine = (text: string): string => visible(text).replaceAll('\n', '␊').replaceAll('\t', '⟨U+0009⟩');

/** The same with a margin, so that no line of it looks like ours. */
export const quotedEvidence = (text: string): string =>
  visible(text.endsWith('\n') ? text.slice(0, -1) : text)
    .split('\n')
    .map((line) => MARGIN + line)
    .join('\n');

/** The text behind the margin, line by line. */
export const quotedIn = (evidence: string): string =>
  evidence
    .split('\n')
    .flatMap((line) => (line.startsWith(MARGIN) ? [line.slice(MARGIN.length)] : []))
    .join('\n');

/**
 * A command with each part on its own line, so that nothing hides behind a `;` far to the right. Only line breaks are
 * added. Quoted text stays together; when a quote does not end, everything is split.
 */
export function commandEvidence(line: string): string {
  const parts = splitCommand(line);
  const runs = /[`]|\$\(|<\(/.test(line);
  const notes = [
    ...(parts.length > 1 ? [`${parts.length} commands in one:`] : []),
    ...(runs ? ['It runs further commands inside of its arguments.'] : []),
  ];
  return [...notes, quotedEvidence(parts.join('\n'))].join('\n');
}

/** `quotes`: keep quoted text together. */
function splitCommand(line: string, quotes = true): string[] {
  const parts: string[] = [];
  let part = '';
  let quote = '';
  for (let at = 0; at < line.length; at += 1) {
    const character = line[at]!;
    part += character;
    if (quotes && quote !== "'" && character === '\\') {
      part += line[at + 1] ?? '';
      at += 1;
    } else if (quote) {
      if (character === quote) quote = '';
    } else if (quotes && (character === '"' || character === "'")) {
      quote = character;
    } else if (/[;&|\n]/.test(character)) {
      while (/[;&|]/.test(line[at + 1] ?? '')) {
        at += 1;
        part += line[at];
      }
      parts.push(part.endsWith('\n') ? part.slice(0, -1) : part);
      part = '';
    }
  }
  // an open quote would hide what follows
  if (quote) return splitCommand(line, false);
  return [...parts, part].filter((each) => !/^[ \t\n]*$/.test(each));
}

const GIT_HEADER =
  /^(?:diff --git|index|---|\+\+\+|new file mode|deleted file mode|old mode|new mode|similarity index) /;
const HUNK = /^@@ -\d+(?:,(\d+))? \+\d+(?:,(\d+))? @@/;

/**
 * A difference without git's own lines, for a person who is told the path. The counts in the head of a hunk say which
 * lines are the file's, so a line of a file cannot pose as one of git's and be left out.
 */
export function plainDiff(diff: string): string {
  const shown: string[] = [];
  let [old, now, hunks] = [0, 0, 0];
  for (const line of diff.split('\n')) {
    const inHunk = old > 0 || now > 0;
    const head = inHunk ? null : HUNK.exec(line);
    if (head) {
      [old, now] = [Number(head[1] ?? 1), Number(head[2] ?? 1)];
      if (hunks > 0) shown.push('…');
      hunks += 1;
    } else if (inHunk) {
      shown.push(line);
      if (!line.startsWith('+') && !line.startsWith('\\')) old -= 1;
      if (!line.startsWith('-') && !line.startsWith('\\')) now -= 1;
    } else if (!GIT_HEADER.test(line)) shown.push(line);
  }
  return shown.join('\n');
}

/** Arguments of a call, one line for each. */
export const argumentsEvidence = (args: Record<string, unknown>): string =>
  Object.entries(args)
    .map(([name, value]) => {
      const text = typeof value === 'string' ? value : JSON.stringify(value, null, 1);
      return text.includes('\n') || text.length > 80
        ? `${visibleLine(name)}:\n${quotedEvidence(text)}`
        : `${visibleLine(name)}: ${visible(text)}`;
    })
    .join('\n');

/** The end of the page that begins at `from`; at a line end if there is one. */
export function pageEnd(evidence: string, from: number): number {
  if (evidence.length - from <= PAGE) return evidence.length;
  const line = evidence.lastIndexOf('\n', from + PAGE);
  const end = line > from + PAGE / 2 ? line + 1 : from + PAGE;
  // not between the halves of a character
  return /[\ud800-\udbff]/.test(evidence[end - 1]!) ? end - 1 : end;
}
