import { runFolder } from '../../adapters/kennel/run-folders.ts';
import { mountSkills } from '../../adapters/kennel/skill-folders.ts';
import type { BeginInput, HeldBack } from '../../contracts/task.ts';
import { findTask, setTaskState, type Task } from '../../store/kennel/tasks/tasks.ts';
import { signatureOf } from '../../store/kennel/workspaces/signatures.ts';
import { agreedSkillsInThread } from '../../store/turns/turn-extensions.ts';
import type { KennelDeps } from '../activity-deps.ts';
import { fail } from '../failure.ts';
import { requireHeld } from '../lease.ts';
import { openGate } from './gate.ts';
import { noteOwnStart } from './own-work.ts';
import { loginOf } from './prepare-task.ts';
import { sendCommand } from './run/folder.ts';
import { spendingBreach } from './run/limits.ts';
import { limitOfLogin } from './run/model-limit.ts';
import { committer, packageManagers, settleSetup, specOf } from './run-spec.ts';
import { AUTHOR, workspaceOf, worktreeOption } from './task-workspace.ts';

/** Starts the container of a run. Its agent begins once the checkpoint exists. */
export async function beginStep(deps: KennelDeps, task: Task, input: BeginInput): Promise<HeldBack | undefined> {
  const { db, config, kennel } = deps;
  const folder = runFolder(config, task.id);
  const login = loginOf(config, task.harness);
  const limit = input.waitsForLimits ? await limitOfLogin(deps, task) : null;
  if (limit) return { limit };
  const spent = input.asksAtBudget ? await spendingBreach(deps, task, input) : null;
  if (spent?.what === 'budget') return { budget: { reason: spent.reason, ...(spent.asks && { asks: spent.asks }) } };
  const setup = await settleSetup(deps, task);
  await openGate(deps, task);
  const skills = await mountSkills(config.FETCH_HOME, await agreedSkillsInThread(db, task.thread_id));
  const [spec, managers] = await Promise.all([
    specOf(deps, task, input, { login: login !== undefined, setup, skills }),
    packageManagers(deps, task),
  ]);
  const workspace = workspaceOf(config, task);
  let remembered = Promise.resolve();
  // the container starts while the checkpoint is made, because both take long; the agent begins only when there is a
  // way back
  const onSlot = () => {
    if (input.checkpoint) remembered = checkpoint(deps, task, workspace);
    remembered.catch(() => {});
  };
  let token: string;
  requireHeld(deps, task);
  try {
    token = await kennel.start({
      spec,
      runFolder: folder,
      workspace,
      ...(login !== undefined && { login }),
      skills,
      env: { ...committer((await signatureOf(db, task.chat_id)) ?? AUTHOR), ...managers },
      onSlot,
    });
  } finally {
    await remembered;
  }
  requireHeld(deps, (await findTask(db, task.id)) ?? task);
  // before the agent begins: a task of step 0, or one that plans, has changed nothing
  await setTaskState(db, task.id, 'running', { step: input.step, ...(!input.plan && { planning: false }) });
  await sendCommand(folder, { id: `${task.id}_begin_${token}`, step: input.step, type: 'begin', token });
  return undefined;
}

async function checkpoint(deps: KennelDeps, task: Task, workspace: string): Promise<void> {
  const { kennel } = deps;
  // the checkpoint itself changes git's own files
  await noteOwnStart(deps, task).catch(() => {});
  const operation = { ...worktreeOption(task), op: 'checkpoint', key: task.id, author: AUTHOR } as const;
  const made = await kennel.workspaceOp(workspace, operation);
  if (!made.ok) throw fail('NotFound', made.output);
}
