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
  /**
   * Bounds of what is kept that git does not look at: ignored files, and repositories inside of the workspace. What a person writes by hand (`.env`, notes,
   * small databases) is far below them; what a build makes again (packages, caches) is above, and is remembered by its name. A task costs at most
   * `otherBytes` of disk, and only for what differs from the task before.
   */
  otherFileBytes: 4 * 1024 * 1024,
  otherFolderFiles: 2_000,
  otherFolderBytes: 16 * 1024 * 1024,
  /** a repository inside of the workspace, with its git folder */
  nestedFiles: 5_000,
  nestedBytes: 48 * 1024 * 1024,
  otherFiles: 20_000,
  otherBytes: 128 * 1024 * 1024,
  /** empty folders, pipes, and files that are remembered by name */
  namedFiles: 2_000,
  /** a history above this many bytes is not copied: the checkpoint is good only as long as the git folder is */
  historyBytes: 2 * 1024 * 1024 * 1024,
  /** ms for a look whether a git folder is whole */
  fsckMs: 60_000,
  /** entries that are looked at to tell whether a large folder was changed */
  fingerprintEntries: 50_000,
  /** loose objects of the store above this many are put into one pack */
  looseObjects: 4_000,
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
