/** The message that a person gets when a task is over: what was asked, what changed, tests, time, cost, and how to see or undo it. */

export interface Report {
  id: string;
  goal: string;
  harness: string;
  workspace: string;
  state: 'completed' | 'failed' | 'cancelled';
  reason: string;
  seconds: number;
  spent: { calls: number; inputTokens: number; outputTokens: number; microUsd: number };
  result: {
    changes: {
      commit: string | null;
      branch: string | null;
      files: ReadonlyArray<{ path: string; status: string; added: number; removed: number }>;
      added: number;
      removed: number;
      note?: string;
    } | null;
    tests: { command: string; ok: boolean; output: string } | null;
    said: string;
  };
}

const FILES_SHOWN = 12;
const SAID_SHOWN = 1500;
const TEST_LINES_SHOWN = 12;

export function reportText(report: Report): string {
  const { result } = report;
  const headline = { completed: 'is done', failed: 'has failed', cancelled: 'was cancelled' }[report.state];
  const goal = report.goal.length > 200 ? `${report.goal.slice(0, 197)}...` : report.goal;
  const parts = [
    `Task ${report.id} ${headline}: "${goal}"`,
    ...(report.state === 'completed' ? [] : [report.reason]),
    changesText(report),
    testsText(result.tests),
    result.said.length > SAID_SHOWN ? `${result.said.slice(0, SAID_SHOWN)}\n[cut; task_status ${report.id} shows more]` : result.said,
    `${report.harness} in ${report.workspace}, ${duration(report.seconds)}${spentText(report.spent)}.`,
  ];
  return parts.filter(Boolean).join('\n\n');
}

function changesText({ state, result: { changes } }: Report): string {
  if (!changes) return '';
  if (changes.files.length === 0) return state === 'completed' ? 'No file was changed.' : 'Nothing was changed.';
  const count = `${changes.files.length} ${changes.files.length === 1 ? 'file' : 'files'} changed (+${changes.added} -${changes.removed})`;
  const where = changes.commit ? `${count}, commit ${changes.commit.slice(0, 9)}${changes.branch ? ` on ${changes.branch}` : ''}` : count;
  // words, because a channel may show a leading sign as the dot of a list
  const files = changes.files.slice(0, FILES_SHOWN).map((file) => `- ${file.status} ${code(file.path)} (+${file.added} -${file.removed})`);
  const more = changes.files.length > FILES_SHOWN ? [`- and ${changes.files.length - FILES_SHOWN} more`] : [];
  const how = changes.commit ? `See it: ${code(`git show ${changes.commit.slice(0, 9)}`)}. Undo it: say "undo".` : '';
  return [[`${where}:`, ...files, ...more].join('\n'), changes.note, how].filter(Boolean).join('\n\n');
}

function testsText(tests: Report['result']['tests']): string {
  if (!tests) return '';
  if (tests.ok) return `Tests pass (${code(tests.command)}).`;
  const end = tests.output.split('\n').slice(-TEST_LINES_SHOWN).join('\n').replaceAll('```', "'''");
  return `Tests fail (${code(tests.command)}):\n\`\`\`\n${end}\n\`\`\``;
}

/** As code: a name may hold what would be taken for markup, or for the end of a line. */
const code = (text: string): string => `\`${text.replaceAll('`', "'").replace(/\p{Cc}/gu, '?')}\``;

export function duration(seconds: number): string {
  if (seconds < 60) return `${seconds} s`;
  const minutes = Math.floor(seconds / 60);
  return minutes < 60 ? `${minutes} min ${seconds % 60} s` : `${Math.floor(minutes / 60)} h ${minutes % 60} min`;
}

function spentText({ calls, inputTokens, outputTokens, microUsd }: Report['spent']): string {
  if (calls === 0) return '';
  const money = microUsd > 0 ? `, $${(microUsd / 1_000_000).toFixed(microUsd < 10_000 ? 4 : 2)}` : '';
  return `, ${inputTokens + outputTokens} tokens in ${calls} model ${calls === 1 ? 'call' : 'calls'}${money}`;
}
