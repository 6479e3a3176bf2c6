/** What an agent of NanoClaw says: lines of JSON between two marker lines, any number of times. */
export interface Output {
  status: 'success' | 'error';
  /** without `<internal>` parts; null when nothing is left for a person */
  result: string | null;
  newSessionId: string | null;
  error: string | null;
}

const START = '---NANOCLAW_OUTPUT_START---';
const END = '---NANOCLAW_OUTPUT_END---';
/** As NanoClaw limits it: 10 MiB. */
const MOST_CHARS = 10 * 1024 * 1024;

/**
 * Reads outputs from the pieces of a stream. A marker counts only as a whole line, because a result may quote one. What
 * stands between two outputs, and an output that is no JSON, is left out.
 */
export class OutputReader {
  private line = '';
  private inside: string[] | null = null;
  private size = 0;

  /** The outputs that this piece completes. */
  push(piece: string): Output[] {
    const lines = (this.line + piece).split('\n');
    this.line = lines.pop()!;
    // a line without an end is no marker, and must not fill the memory
    if (this.line.length > MOST_CHARS) this.line = '';
    return lines.flatMap((line) => this.take(line));
  }

  /** The output whose last line has no end. */
  end(): Output[] {
    return this.push('\n');
  }

  private take(line: string): Output[] {
    const mark = line.trim();
    if (mark === START) {
      this.inside = [];
      this.size = 0;
      return [];
    }
    if (!this.inside) return [];
    if (mark !== END) {
      this.size += line.length;
      if (this.size > MOST_CHARS) this.inside = null;
      else this.inside.push(line);
      return [];
    }
    const text = this.inside.join('\n');
    this.inside = null;
    const output = outputOf(text);
    return output ? [output] : [];
  }
}

function outputOf(text: string): Output | null {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    return null;
  }
  if (!value || typeof value !== 'object') return null;
  const { status, result, newSessionId, error } = value as Record<string, unknown>;
  if (status !== 'success' && status !== 'error') return null;
  const told = result === null || result === undefined ? '' : forPeople(textOf(result));
  return {
    status,
    result: told === '' ? null : told,
    newSessionId: typeof newSessionId === 'string' && newSessionId !== '' ? newSessionId : null,
    error: error === undefined || error === null ? null : textOf(error),
  };
}

const textOf = (value: unknown): string => (typeof value === 'string' ? value : JSON.stringify(value));

const INTERNAL = { from: '<internal>', to: '</internal>' };

/** Without what the agent said to itself. Read from left to right once: an expression takes long on many beginnings. */
function forPeople(text: string): string {
  let shown = '';
  let at = 0;
  for (;;) {
    const from = text.indexOf(INTERNAL.from, at);
    const to = from < 0 ? -1 : text.indexOf(INTERNAL.to, from);
    if (to < 0) return (shown + text.slice(at)).trim();
    shown += text.slice(at, from);
    at = to + INTERNAL.to.length;
  }
}
