/** Bounds of what is read, shown and kept. */
export const LIMITS = {
  /** bytes of a file that is edited or previewed as text */
  editBytes: 5 * 1024 * 1024,
  /** bytes of a file that `read` goes through to reach a line */
  readBytes: 64 * 1024 * 1024,
  /** characters of one line that is shown */
  lineChars: 2_000,
  /** characters of an output */
  outputChars: 60_000,
  /** files whose content is searched are at most this large, bytes */
  searchBytes: 5 * 1024 * 1024,
  /** ms for one search */
  searchMs: 20_000,
  /** entries that a walk looks at */
  walkEntries: 100_000,
  /** untracked files above this many bytes are left out of a checkpoint */
  keptFileBytes: 1024 * 1024 * 1024,
  /** files that one answer lists */
  listedFiles: 500,
} as const;

/** Cuts a long output at a line and says how much is left out. */
export function bounded(text: string, limit: number = LIMITS.outputChars): string {
  if (text.length <= limit) return text;
  const end = text.lastIndexOf('\n', limit);
  const kept = text.slice(0, end > limit / 2 ? end : limit);
  const rest = text.slice(kept.length).replace(/^\n/, '');
  return `${kept}\n… ${rest.length} more characters (${rest.replace(/\n$/, '').split('\n').length} lines) are left out`;
}
