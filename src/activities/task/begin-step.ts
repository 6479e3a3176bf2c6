import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { cancellationSignal } from '@temporalio/activity';
import { hasModel } from '../../../kennel/agents/registry.ts';
import { loginProblem } from '../../adapters/kennel/login.ts';
import { type MountedSkill, mountSkills } from '../../adapters/kennel/skill-folders.ts';
import { toolsForAgents } from '../../adapters/mcp/agent-servers.ts';
import type { Config } from '../../config.ts';
import { type AgentName, type RunSpec, worktreeOf } from '../../contracts/kennel.ts';
import type { AgreementAsked, BeginInput, HeldBack, Prepared } from '../../contracts/task.ts';
import type { Author } from '../../contracts/workspace-ops.ts';
import { askWhoSigns } from '../../domain/chat/words/sign-off.ts';
import { modelOf } from '../../domain/tasks/agents/agents.ts';
import { loginsOf } from '../../domain/tasks/agents/logins.ts';
import { cacheSettings } from '../../domain/tasks/registries/cached-registries.ts';
import { mirrorEnvironment, mirrorsOf } from '../../domain/tasks/registries/mirrors.ts';
import { chatAutonomy } from '../../store/chats/threads/threads.ts';
import { registriesOf } from '../../store/kennel/questions/egress-questions.ts';
import { askForEnvironment } from '../../store/kennel/questions/task-plans.ts';
import { tellOfTask } from '../../store/kennel/tasks/task-news.ts';
import { findTask, setTaskState, type Task } from '../../store/kennel/tasks/tasks.ts';
import { asksWhoSigns, gitIdentity, signatureOf } from '../../store/kennel/workspaces/signatures.ts';
import type { Db } from '../../store/postgres/database.ts';
import { agreedSkillsInThread } from '../../store/turns/turn-extensions.ts';
import type { KennelDeps } from '../activity-deps.ts';
import { fail } from '../failure.ts';
import { requireHeld } from '../lease.ts';
import { tellProgress } from './build-progress.ts';
import { openGate } from './gate.ts';
import { noteOwnStart } from './own-work.ts';
import { passOn, promptsOfRun, unheardAnswer } from './prompt-of-run.ts';
import { registriesToAsk } from './registries.ts';
import { gateFolder, runFolder, sendCommand } from './run/folder.ts';
import { spendingBreach } from './run/limits.ts';
import { limitOfLogin } from './run/model-limit.ts';
import { type SetupSettled, settleSetup } from './setup-script.ts';
import { GONE_FACTOR } from './task-records.ts';
import { AUTHOR, workspaceOf, worktreeOption } from './task-workspace.ts';

/**
 * Environment variables by which the package managers of a run find the owner's mirrors, and the cache of this host.
 * The gate must be open.
 */
async function packageManagers(
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

/** Before the first run: the image of the agent, and the worktree if the task has its own. */
export async function prepareTask(deps: KennelDeps, task: Task): Promise<Prepared> {
  const { db, config, kennel, draining } = deps;
  loginOf(config, task.harness);
  await kennel.ready();
  // the next process completes a half-built image from its layers
  const stopped = AbortSignal.any([cancellationSignal(), draining]);
  const told = tellProgress(deps, task);
  // what is built follows from the answer
  await kennel.provide('tools', told, stopped);
  const agreement = await agreementOf(deps, task);
  if (agreement) return { harness: task.harness, agreement };
  const { notes } = await kennel.provide(task.harness, told, stopped, workspaceOf(config, task));
  const [ask, notice] = await Promise.all([askOnce(db, task), noticeOf(db, task, notes)]);
  const hosts = await registriesToAsk(deps, task);
  const prepared: Prepared = {
    harness: task.harness,
    ...(ask && { ask }),
    ...(notice && { notice }),
    ...(hosts && { hosts }),
  };
  if (!task.worktree) return prepared;
  const workspace = workspaceOf(config, task);
  const added = await kennel.workspaceOp(workspace, { op: 'worktree', action: 'add', key: task.id, author: AUTHOR });
  if (!added.ok) throw fail('NotFound', added.output);
  return prepared;
}

/**
 * The message that asks whose name the commits shall have, with the first task of the owner; undefined for any other.
 */
async function askOnce(db: Db, task: Task): Promise<string | undefined> {
  if (task.step > 0) return undefined;
  const own = await gitIdentity(db, task.host);
  return own && (await asksWhoSigns(db, task)) ? await tellOfTask(db, task, 'sign', askWhoSigns(own)) : undefined;
}

/** The question whether the repository may bring its own image and commands, while nobody has answered it. */
async function agreementOf({ db, config, kennel }: KennelDeps, task: Task): Promise<AgreementAsked | undefined> {
  const undecided = await kennel.undecided(workspaceOf(config, task));
  if (!undecided) return undefined;
  const { decided, ...asked } = await askForEnvironment(db, task, undecided);
  // nobody's answer is no decision: the next task asks again
  if (decided === 'allow' || decided === 'deny') await kennel.decide(undecided.hash, decided === 'allow');
  return decided ? undefined : asked;
}

/** The message that says, once in a task, what its environment lacks. */
async function noticeOf(db: Db, task: Task, notes: readonly string[]): Promise<string | undefined> {
  return notes.length > 0
    ? await tellOfTask(db, task, 'environment', `Task ${task.id} (${task.workspace}):\n${notes.join('\n')}`, 'quoting')
    : undefined;
}

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

/** What the runner must do in this run. An answer that the agent has not heard is written for it too. */
async function specOf(
  { db, config }: KennelDeps,
  task: Task,
  input: BeginInput,
  { login, setup, skills }: { login: boolean; setup: SetupSettled | null; skills: readonly MountedSkill[] },
): Promise<RunSpec> {
  // an agent that repeats its question gets the answer at once
  const unheard = await unheardAnswer(db, task);
  if (unheard) await passOn({ db, config }, task, input.step, unheard.id);
  const { prompt, restartPrompt } = await promptsOfRun({ db, config }, task, input, {
    unheard,
    setup: setup?.told ?? null,
    skills: skills.map(({ name }) => name),
  });
  const goesOn = input.step > 1 && task.session_id !== null;
  const autonomy = (await chatAutonomy(db, task.chat_id))?.autonomy ?? 'supervised';
  const mcp = [...(await toolsForAgents({ db, config, threadId: task.thread_id })).keys()];
  return {
    version: 1,
    taskId: task.id,
    step: input.step,
    harness: task.harness,
    prompt,
    sessionId: goesOn ? task.session_id : null,
    // an agent without a model takes every word as it stands
    ...(goesOn && hasModel(task.harness) && { restartPrompt }),
    model: modelOf(task.harness, config),
    // the container is the sandbox, so only a supervised chat is asked about every action
    permissions: autonomy === 'supervised' ? 'ask' : 'run',
    holdMs: input.holdMs,
    ...(login && { login: true }),
    ...(task.worktree && { worktree: worktreeOf(task.id) }),
    freezeAfterMs: freezeAfterMs(config),
    ...(input.plan && { plan: true as const }),
    ...(setup?.proposed && { proposed: setup.proposed }),
    ...(mcp.length > 0 && { mcp }),
    waits: true,
  };
}

/**
 * Path of the log-in file for an agent on this host. Throws a sentence when the file cannot be used, because the engine
 * would only say that a mount failed.
 */
function loginOf({ FETCH_KENNEL_LOGINS }: Config, agent: AgentName): string | undefined {
  const path = loginsOf(FETCH_KENNEL_LOGINS).get(agent);
  const problem = path === undefined ? null : loginProblem(agent, path);
  if (problem) throw fail('NotFound', problem);
  return path;
}

/** Commits that the agent makes itself are by the same person. */
const committer = ({ name, email }: Author): Record<string, string> => ({
  GIT_AUTHOR_NAME: name,
  GIT_AUTHOR_EMAIL: email,
  GIT_COMMITTER_NAME: name,
  GIT_COMMITTER_EMAIL: email,
});

async function checkpoint(deps: KennelDeps, task: Task, workspace: string): Promise<void> {
  const { kennel } = deps;
  // the checkpoint itself changes git's own files
  await noteOwnStart(deps, task);
  const operation = { ...worktreeOption(task), op: 'checkpoint', key: task.id, author: AUTHOR } as const;
  const made = await kennel.workspaceOp(workspace, operation);
  if (!made.ok) throw fail('NotFound', made.output);
}

/** The agent is frozen after this part of the time in which its task may move to another host. */
const FREEZE_PART = 0.7;
const freezeAfterMs = ({ FETCH_KENNEL_AWAY_SECONDS }: Config): number =>
  Math.round(FETCH_KENNEL_AWAY_SECONDS * GONE_FACTOR * FREEZE_PART * 1_000);
