import { createHash } from 'node:crypto';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { cancellationSignal } from '@temporalio/activity';
import { hasModel, imageOf } from '../../../kennel/agents/registry.ts';
import type { MountedSkill } from '../../adapters/kennel/skill-folders.ts';
import { CHAT_SERVER, toolsForAgents } from '../../adapters/mcp/agent-servers.ts';
import type { Config } from '../../config.ts';
import { type RunSpec, worktreeOf } from '../../contracts/kennel.ts';
import type { BeginInput } from '../../contracts/task.ts';
import type { Author } from '../../contracts/workspace-ops.ts';
import { modelOf } from '../../domain/tasks/agents/agents.ts';
import { mirrorEnvironment, mirrorsOf } from '../../domain/tasks/registries/mirrors.ts';
import { cacheSettings } from '../../domain/tasks/registries/registry-cache.ts';
import { type SetupOutcome, setupAnswer } from '../../domain/tasks/setup.ts';
import { chatAutonomy } from '../../store/chats/threads/threads.ts';
import { registriesOf } from '../../store/kennel/questions/egress-questions.ts';
import { latestQuestionOfTask } from '../../store/kennel/questions/task-questions.ts';
import { type ProposedSetup, proposedSetup } from '../../store/kennel/questions/task-setups.ts';
import type { Task } from '../../store/kennel/tasks/tasks.ts';
import { chatOfTask } from '../../store/owner/task-chat.ts';
import type { KennelDeps } from '../activity-deps.ts';
import { tellProgress } from '../progress.ts';
import { passOn, promptsOfRun, unheardAnswer } from './prompt-of-run.ts';
import { gateFolder } from './run/folder.ts';
import { GONE_FACTOR } from './task-records.ts';
import { workspaceOf } from './task-workspace.ts';

/** The job of the runner in this run. An answer that the agent has not heard is written for it too. */
export async function specOf(
  { db, config }: KennelDeps,
  task: Task,
  input: BeginInput,
  { login, setup, skills }: { login: boolean; setup: SetupSettled | null; skills: readonly MountedSkill[] },
): Promise<RunSpec> {
  // an agent that repeats its question gets the answer at once
  const unheard = await unheardAnswer(db, task);
  if (unheard) await passOn({ db, config }, task, input.step, unheard.id);
  const { prompt, restartPrompt, words } = await promptsOfRun({ db, config }, task, input, {
    unheard,
    setup: setup?.told ?? null,
    skills: skills.map(({ name }) => name),
  });
  // before the first run, only a session that was handed over is known
  const goesOn = task.session_id !== null;
  const autonomy = (await chatAutonomy(db, task.chat_id))?.autonomy ?? 'supervised';
  const servers = [...(await toolsForAgents({ db, config, threadId: task.thread_id })).keys()];
  // an agent without a model calls no tools
  const mcp = hasModel(task.harness) ? [...new Set([...servers, CHAT_SERVER])] : servers;
  const image = imageOf(task.harness);
  return {
    version: 1,
    taskId: task.id,
    step: input.step,
    harness: task.harness,
    prompt,
    sessionId: goesOn ? task.session_id : null,
    // An agent without a model takes every word as it stands. A session that was handed over must not be lost in silence
    ...(goesOn && input.step > 1 && hasModel(task.harness) && { restartPrompt }),
    model: modelOf(task.harness, config),
    // the container is the sandbox, so only a supervised chat is asked about every action
    permissions: autonomy === 'supervised' ? 'ask' : 'run',
    holdMs: input.holdMs,
    ...(login && { login: true }),
    ...(task.worktree && { worktree: worktreeOf(task.id) }),
    freezeAfterMs: freezeAfterMs(config),
    ...(image && { workspace: image.workspace, chat: await chatOfTask(db, config, task) }),
    ...(words.length > 0 && { words }),
    ...(input.plan && { plan: true as const }),
    ...(setup?.proposed && { proposed: setup.proposed }),
    ...(mcp.length > 0 && { mcp }),
    waits: true,
  };
}

/** The agent is frozen after this part of the time in which its task may move to another host. */
const FREEZE_PART = 0.7;
const freezeAfterMs = ({ FETCH_KENNEL_AWAY_SECONDS }: Config): number =>
  Math.round(FETCH_KENNEL_AWAY_SECONDS * GONE_FACTOR * FREEZE_PART * 1_000);

/** Commits that the agent makes itself are by the same person. */
export const committer = ({ name, email }: Author): Record<string, string> => ({
  GIT_AUTHOR_NAME: name,
  GIT_AUTHOR_EMAIL: email,
  GIT_COMMITTER_NAME: name,
  GIT_COMMITTER_EMAIL: email,
});

/**
 * Environment variables by which the package managers of a run find the owner's mirrors, and the cache of this host.
 * The gate must be open.
 */
export async function packageManagers(
  { config, db }: Pick<KennelDeps, 'config' | 'db'>,
  task: Task,
): Promise<Record<string, string>> {
  const { FETCH_KENNEL_MIRRORS, FETCH_REGISTRY_CACHE_MB } = config;
  if (FETCH_REGISTRY_CACHE_MB === 0) return mirrorEnvironment(FETCH_KENNEL_MIRRORS);
  const registries = await registriesOf(db, task);
  for (const { manager } of mirrorsOf(FETCH_KENNEL_MIRRORS)) registries.delete(manager);
  const { variables, files } = cacheSettings(registries);
  // a container cannot write this folder, so no link is followed
  for (const [name, content] of Object.entries(files))
    await writeFile(join(gateFolder(config, task.id), name), content);
  return { ...variables, ...mirrorEnvironment(FETCH_KENNEL_MIRRORS, true) };
}

/** The outcome of the script that the task proposed last. */
interface SetupSettled {
  /** for the agent; null when another question came after it */
  told: string | null;
  /** answers the same script at once */
  proposed: RunSpec['proposed'];
}

/**
 * Builds the image with the script that a person agreed to, before the run that goes on after the answer. A second call
 * finds what the first one did.
 */
export async function settleSetup(deps: KennelDeps, task: Task): Promise<SetupSettled | null> {
  const { db } = deps;
  const setup = await proposedSetup(db, task.id);
  if (!setup || setup.answer === 'open') return null;
  const outcome = await outcomeOf(deps, task, setup);
  const answer = setupAnswer(outcome);
  const latest = (await latestQuestionOfTask(db, task.id))?.id === setup.questionId;
  const sha256 = createHash('sha256').update(setup.script).digest('hex');
  return { told: latest ? answer : null, proposed: outcome === 'installed' ? undefined : { sha256, answer } };
}

async function outcomeOf(
  deps: KennelDeps,
  task: Task,
  { questionId, script, answer }: ProposedSetup,
): Promise<SetupOutcome> {
  if (answer !== 'allowed') return answer === 'denied' ? 'denied' : 'unanswered';
  const stopped = AbortSignal.any([cancellationSignal(), deps.draining]);
  const setup = { id: questionId, script };
  const failed = await deps.kennel.adoptSetup(
    task.harness,
    workspaceOf(deps.config, task),
    setup,
    tellProgress(deps, task),
    stopped,
  );
  return failed === null ? 'installed' : { failed };
}
