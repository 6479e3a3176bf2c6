import { readdirSync, readFileSync, readSync, realpathSync, writeSync } from 'node:fs';
import type { WorkspaceAnswer, WorkspaceOp } from '../../src/contracts/workspace-ops.ts';
import { environment, GitFailed, removeScratch } from './git/git.ts';
import { perform } from './ops.ts';
import { OwnRefusal, Refusal } from './refusal.ts';

/**
 * Reads one `WorkspaceOp` as JSON from stdin and writes one `WorkspaceAnswer` as JSON to stdout. With the argument
 * `serve`, it does so for each line until the input ends; with `serve alone` also until something else runs in its
 * container. Exits with 0 when there is an answer, even a refusal; otherwise with 1 and a reason on stderr.
 * Environment: `FETCH_WORKSPACE_ROOT` (default `/workspace`) and `FETCH_SIDE_GIT` (default `/run/fetch-side`), the
 * folder of the workspace's checkpoints.
 */
async function main(): Promise<void> {
  // biome-ignore lint/style/noProcessEnv: a program of its own, whose environment the image sets
  const { FETCH_WORKSPACE_ROOT, FETCH_SIDE_GIT, PATH } = process.env;
  environment.PATH = PATH;
  const [, , serve, alone] = process.argv;
  if (serve === undefined) {
    await answerTo(readFileSync(0, 'utf8'));
    return;
  }
  const usual = alone === undefined ? Number.POSITIVE_INFINITY : processes();
  for (const text of lines()) {
    // nothing that an operation has left behind meets the next one
    if ((await answerTo(text, () => processes() > usual)).last) return;
  }

  async function answerTo(text: string, disturbed?: () => boolean): Promise<WorkspaceAnswer> {
    const op = JSON.parse(text) as WorkspaceOp;
    let answer: WorkspaceAnswer;
    try {
      answer = await perform(
        realpathSync(FETCH_WORKSPACE_ROOT ?? '/workspace'),
        FETCH_SIDE_GIT ?? '/run/fetch-side',
        op,
      );
    } catch (error) {
      if (!(error instanceof Refusal) && !(error instanceof GitFailed && op.op.startsWith('git-'))) throw error;
      answer = { ok: false, output: error.message, ...(error instanceof OwnRefusal && { ours: true }) };
    }
    if (disturbed?.()) answer.last = true;
    const bytes = Buffer.from(`${JSON.stringify(answer)}\n`);
    // before the answer, because nobody waits for what happens after it
    removeScratch();
    for (let at = 0; at < bytes.length; ) at += writeSync(1, bytes, at);
    return answer;
  }
}

/** How many run in this container. */
const processes = (): number => readdirSync('/proc').filter((name) => /^\d+$/.test(name)).length;

/** Whole lines of stdin, as they arrive. */
function* lines(): Generator<string> {
  const chunk = Buffer.alloc(64 * 1024);
  let rest = Buffer.alloc(0);
  for (;;) {
    const count = readSync(0, chunk);
    if (count === 0) return;
    rest = Buffer.concat([rest, chunk.subarray(0, count)]);
    for (let end = rest.indexOf(10); end >= 0; end = rest.indexOf(10)) {
      yield rest.subarray(0, end).toString('utf8');
      rest = rest.subarray(end + 1);
    }
  }
}

try {
  await main();
} catch (error) {
  console.error(error instanceof GitFailed ? error.message : error);
  process.exitCode = 1;
} finally {
  removeScratch();
}
