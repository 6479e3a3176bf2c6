import { z } from 'zod';
import { budgetOf, lineOf } from '../../domain/tasks/checks/project-profile.ts';
import { inline } from '../../domain/text/foreign-text.ts';
import { MINUTE } from '../../domain/time.ts';
import { findTask, type Task, taskNumbers } from '../../store/kennel/tasks/tasks.ts';
import { kindOfRace, markChosen, tasksTogether } from '../../store/kennel/tasks/together.ts';
import { toldInPrompt } from '../declarations.ts';
import { GIT, WITHOUT_FILTERS } from '../github/bundle.ts';
import { defineTool, type ToolContext, type ToolOutcome } from '../tool.ts';
import { printed } from '../workspace/command-text.ts';
import { settleInterrupted, undoable } from '../workspace/direct-edit.ts';
import { AUTHOR, atWork, commandFor, inWorkspace, type Opened, WITH_IMAGE_MS } from '../workspace/in-workspace.ts';
import { execute } from '../workspace/shell.ts';

/** `task_bring`: the work of tasks that have a branch of their own comes to the branch of the workspace. */

const LIMIT_MS = 5 * MINUTE;
const TESTS_MS = 5 * MINUTE;
/** Two tries of git and an image need the rest of the tool's time. */
const MOST_TESTS_MS = 12 * MINUTE;

/**
 * Merges a branch. The commit is made as an object, and the files change in one step at the end: a conflict, or a kill
 * before that step, leaves the workspace as it was. Prints the commit before.
 */
const MERGE = String.raw`
branch=$1 message=$2; shift 2
${WITHOUT_FILTERS}
ours=$("$@" rev-parse HEAD)
theirs=$("$@" rev-parse --quiet --verify "refs/heads/$branch^{commit}") || exit 21
if "$@" merge-base --is-ancestor "$theirs" "$ours"; then exit 24; fi
if "$@" merge-base --is-ancestor "$ours" "$theirs"; then tip=$theirs; else
  merged=$("$@" merge-tree --write-tree --name-only --no-messages "$ours" "$theirs") || { echo "$merged" | tail -n +2 | sort -u; exit 22; }
  tip=$("$@" commit-tree "$merged" -p "$ours" -p "$theirs" -m "$message")
fi
"$@" diff --name-only --no-renames --diff-filter=A -z HEAD "$tip" | while IFS= read -r -d '' file; do
  if [ -e "$file" ] || [ -L "$file" ]; then printf '%s\n' "$file"; exit 23; fi
done
"$@" reset --quiet --keep "$tip"
printf '%s\n' "$ours"
`;
const BACK = 'commit=$1; shift; "$@" reset --quiet --keep "$commit"';

const DROP = 'branch=$1; shift; "$@" branch --quiet -D -- "$branch"';

const REASONS: Record<number, (details: string) => string> = {
  21: () => 'its branch is gone',
  22: (details) => `it changes the same places as what is there now, in ${details}`,
  23: (details) => `it brings ${details}, which is here already and not committed. Move it away, then try again`,
};

export const taskBring = defineTool({
  name: 'task_bring',
  family: 'tasks',
  effect: 'once',
  runsIn: 'kennel',
  timeoutMs: WITH_IMAGE_MS * 2,
  reads: ['command'],
  sends: [],
  description: 'Merge the branches of tasks in this order, with the tests after each.',
  danger: 'MODERATE',
  schema: z.strictObject({
    tasks: z.array(z.string().trim().min(1).max(60)).min(1).max(5).meta(toldInPrompt('Ids or numbers')),
    workspace: z.string().max(100).meta(toldInPrompt('Of the tasks')),
  }),
  asks: (_, at, say) => say('ask.bring', { at }),
  inQuestion: ['tasks'],
  preview: async ({ tasks }, context) => {
    const named = await tasksNamed(context, tasks);
    return named.map((task) => inline(task?.goal ?? 'a task that is not there', 200)).join('\n');
  },
  run: ({ tasks, workspace }, context) =>
    inWorkspace(context, workspace, (at) => undoable(at, context, () => bringAll(context, at, tasks))),
  interrupted: ({ workspace }, context) => settleInterrupted(context, workspace),
});

/** Tasks of the chat by their ids or numbers; undefined for what is none of them. */
async function tasksNamed({ db, chatId }: ToolContext, names: readonly string[]): Promise<Array<Task | undefined>> {
  const numbers = new Map([...(await taskNumbers(db, chatId))].map(([id, number]) => [String(number), id]));
  const tasks = await Promise.all(names.map((name) => findTask(db, numbers.get(name) ?? name)));
  return tasks.map((task) => (task?.chat_id === chatId ? task : undefined));
}

async function bringAll(context: ToolContext, at: Opened, names: readonly string[]): Promise<ToolOutcome> {
  const busy = await atWork(context, at);
  if (busy) return busy;
  const done: string[] = [];
  for (const task of await tasksNamed(context, names)) {
    const problem = cannotBring(at, task);
    if (problem !== null) return stopped(done, problem);
    const brought = await bring(context, at, task!);
    if (!brought.ok) return stopped(done, brought.output);
    done.push(brought.output);
    await markChosen(context.db, task!);
  }
  return { ok: true, output: [...done, 'Say "undo" to take it back.'].join('\n') };
}

const stopped = (done: readonly string[], why: string): ToolOutcome => ({
  ok: false,
  output: [...done, why].join('\n'),
});

function cannotBring(at: Opened, task: Task | undefined): string | null {
  if (!task || task.workspace !== at.name || task.host !== at.host) return `There is no such task in ${at.name}.`;
  const changes = task.result?.changes;
  if (!task.worktree || !changes?.commit || !changes.branch)
    return `The task "${inline(task.goal, 80)}" has no branch of its own with a change.`;
  return null;
}

async function bring(context: ToolContext, at: Opened, task: Task): Promise<{ ok: boolean; output: string }> {
  const name = await nameOf(context, task);
  const { branch } = task.result!.changes!;
  const merged = await git(context, at, MERGE, [branch!, `Merge ${branch}: ${inline(task.goal, 60)}`]);
  if (merged.code === 24) return { ok: true, output: `${name} is in already.` };
  const details = inline(printed(merged.stdout).trim().split('\n').join(', '), 500);
  if (merged.code !== 0) {
    const problem = printed(merged.stderr);
    const why = /not uptodate|would be overwritten/.test(problem)
      ? 'it changes files whose changes here are not committed. Commit them, then try again'
      : (REASONS[merged.code ?? -1]?.(details) ?? inline(problem.slice(-500)));
    return {
      ok: false,
      output: `${name} was not brought in: ${why || 'it took too long'}. The files are as before it.`,
    };
  }
  const { argv: test, ms } = await commandFor('test', at, context);
  if (!test?.length) return { ok: true, output: `${name} is in. No tests were run: how they are run is not known.` };
  const line = lineOf(test);
  const timeoutMs = Math.min(budgetOf(ms, TESTS_MS), MOST_TESTS_MS);
  const running = { argv: test, cwd: '.', timeoutMs, label: 'test', title: line, command: line };
  const tests = await execute(at, context, running);
  if (tests.ok) return { ok: true, output: `${name} is in, and the tests pass.` };
  // an attempt was chosen by a person who saw its tests; parts must fit together
  if (task.race_id === null || (await kindOfRace(context.db, task.race_id)) === 'race')
    return { ok: true, output: `${name} is in, but the tests fail:\n${tests.output}` };
  const before = printed(merged.stdout).trim().split('\n').at(-1)!;
  const back = await git(context, at, BACK, [before]);
  return {
    ok: false,
    output: `${name} was not brought in, because the tests fail with it${back.code === 0 ? '. The files are as before it' : ', and it could not be taken back'}:\n${tests.output}`,
  };
}

async function nameOf({ db }: ToolContext, task: Task): Promise<string> {
  if (task.race_id === null) return `"${inline(task.goal, 80)}"`;
  const number = (await tasksTogether(db, task.race_id)).findIndex(({ id }) => id === task.id) + 1;
  return (await kindOfRace(db, task.race_id)) === 'race' ? `Attempt ${number}` : `Part ${number}`;
}

/** Removes the branch of a task whose work nobody wants. */
export const dropBranch = (kennel: Opened['kennel'], path: string, branch: string) =>
  kennel.command({
    workspace: path,
    argv: ['bash', '-c', DROP, 'drop', branch, ...GIT],
    timeoutMs: MINUTE,
    maxOutput: 1024,
    label: 'git-branch',
    signal: AbortSignal.timeout(2 * MINUTE),
  });

const git = (context: ToolContext, at: Opened, script: string, args: readonly string[]) =>
  at.kennel.command({
    workspace: at.path,
    argv: ['bash', '-eo', 'pipefail', '-c', script, 'merge', ...args, ...GIT],
    env: {
      GIT_COMMITTER_NAME: AUTHOR.name,
      GIT_COMMITTER_EMAIL: AUTHOR.email,
      GIT_AUTHOR_NAME: AUTHOR.name,
      GIT_AUTHOR_EMAIL: AUTHOR.email,
    },
    timeoutMs: LIMIT_MS,
    maxOutput: 8192,
    label: 'git-merge',
    signal: context.signal,
  });
