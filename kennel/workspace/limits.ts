/** Limits of what is read, shown and saved. */
export const LIMITS = {
  /** largest file that is edited or previewed as text, in bytes */
  editBytes: 5 * 1024 * 1024,
  /** how far `read` goes into a file to reach a line, in bytes */
  readBytes: 64 * 1024 * 1024,
  /** longest line that is shown, in characters */
  lineChars: 2_000,
  /** longest output, in characters */
  outputChars: 60_000,
  /** largest file that is searched, in bytes */
  searchBytes: 5 * 1024 * 1024,
  /** time limit of one search, in ms */
  searchMs: 20_000,
  /** most entries that a walk visits */
  walkEntries: 100_000,
  /** untracked files larger than this are left out of a checkpoint, in bytes */
  keptFileBytes: 1024 * 1024 * 1024,
  /**
   * Limits of what is saved beyond git: ignored files, and repositories inside the workspace. What a person writes by
   * hand (`.env`, notes, small databases) is far below them. What a build can restore (packages, caches) is above, and
   * only its name is saved. A task costs at most `otherBytes` of disk, and only for what differs from the task before.
   */
  otherFileBytes: 4 * 1024 * 1024,
  otherFolderFiles: 2_000,
  otherFolderBytes: 16 * 1024 * 1024,
  /** files of a repository inside the workspace, with its git folder */
  nestedFiles: 5_000,
  nestedBytes: 48 * 1024 * 1024,
  otherFiles: 20_000,
  otherBytes: 128 * 1024 * 1024,
  /** most empty folders, pipes, and files of which only the name is saved */
  namedFiles: 2_000,
  /** a larger history is not copied, and the checkpoint then works only while the git folder does; bytes */
  historyBytes: 2 * 1024 * 1024 * 1024,
  /** time limit of the check whether a git folder is intact, in ms */
  fsckMs: 60_000,
  /** most entries that are read to find out whether a large folder changed */
  fingerprintEntries: 50_000,
  /** the largest folder whose content is hashed: entries, and bytes */
  digestEntries: 10_000,
  digestBytes: 64 * 1024 * 1024,
  /** when the store has more loose objects, they are put into one pack */
  looseObjects: 4_000,
  /** a task that would commit more than these is looked at by the person first: new files, and bytes */
  commitFiles: 200,
  commitBytes: 5 * 1024 * 1024,
  /** largest workspace of which a copy is made to run its tests on an earlier state, in bytes */
  copiedBytes: 2 * 1024 * 1024 * 1024,
  /** largest file whose tests are counted, in bytes */
  countedBytes: 512 * 1024,
  /** most files that one answer lists */
  listedFiles: 500,
} as const;

/** Cuts a long output at a line end, and says how much is left out. */
export function bounded(text: string, limit: number = LIMITS.outputChars): string {
  if (text.length <= limit) return text;
  const end = text.lastIndexOf('\n', limit);
  const kept = text.slice(0, end > limit / 2 ? end : limit);
  const rest = text.slice(kept.length).replace(/^\n/, '');
  return `${kept}\n… ${rest.length} more characters (${rest.replace(/\n$/, '').split('\n').length} lines) are left out`;
}
