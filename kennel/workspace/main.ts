import { readFileSync, realpathSync, writeSync } from 'node:fs';
import type { WorkspaceAnswer, WorkspaceOp } from '../../src/contracts/workspace-ops.ts';
import { environment, GitFailed, removeScratch } from './git.ts';
import { perform } from './ops.ts';
import { Refusal } from './refusal.ts';

/**
 * One `WorkspaceOp` as JSON on stdin, one `WorkspaceAnswer` as JSON on stdout. Ends with 0 when there is an answer, also a refusing
 * one; with 1 and a reason on stderr otherwise. Environment: `FETCH_WORKSPACE_ROOT` (default `/workspace`) and `FETCH_SIDE_GIT`
 * (default `/run/fetch-side`), a folder that keeps the state of workspaces that are no git repositories.
 */
function main(): void {
  // biome-ignore lint/style/noProcessEnv: a program of its own, whose environment the image sets
  const { FETCH_WORKSPACE_ROOT, FETCH_SIDE_GIT, PATH } = process.env;
  environment.PATH = PATH;
  const op = JSON.parse(readFileSync(0, 'utf8')) as WorkspaceOp;
  let answer: WorkspaceAnswer;
  try {
    answer = perform(realpathSync(FETCH_WORKSPACE_ROOT ?? '/workspace'), FETCH_SIDE_GIT ?? '/run/fetch-side', op);
  } catch (error) {
    if (!(error instanceof Refusal) && !(error instanceof GitFailed && op.op.startsWith('git-'))) throw error;
    answer = { ok: false, output: error.message };
  }
  const bytes = Buffer.from(`${JSON.stringify(answer)}\n`);
  for (let at = 0; at < bytes.length; ) at += writeSync(1, bytes, at);
}

try {
  main();
} catch (error) {
  console.error(error instanceof GitFailed ? error.message : error);
  process.exitCode = 1;
} finally {
  removeScratch();
}
