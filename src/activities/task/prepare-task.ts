import { cancellationSignal } from '@temporalio/activity';
import { allowList } from '../../adapters/kennel/gate/egress/allow-list.ts';
import { loginProblem } from '../../adapters/kennel/login.ts';
import { endBaseline, startBaseline } from '../../adapters/workflows.ts';
import type { Config } from '../../config.ts';
import type { AgentName } from '../../contracts/kennel.ts';
import type { AgreementAsked, Prepared } from '../../contracts/task.ts';
import type { HeadLook, Worktree } from '../../contracts/workspace-ops.ts';
import { signature } from '../../domain/chat/words/sign-off.ts';
import { membersOf } from '../../domain/settings/shapes.ts';
import { loginsOf } from '../../domain/tasks/agents/agent-settings.ts';
import { isOutdated } from '../../domain/tasks/checks/project-profile.ts';
import { shownHost } from '../../domain/tasks/egress.ts';
import { inline } from '../../domain/text/foreign-text.ts';
import type { Told } from '../../domain/texts/say.ts';
import { sayTo } from '../../store/chats/preferences.ts';
import { channelOfChat } from '../../store/chats/threads/threads.ts';
import { withdrawCheck } from '../../store/kennel/questions/baseline-questions.ts';
import { managersDecided, wantRegistries } from '../../store/kennel/questions/egress-questions.ts';
import { askForEnvironment, wordsToPlan } from '../../store/kennel/questions/task-plans.ts';
import { tellOfTask } from '../../store/kennel/tasks/task-news.ts';
import type { Task } from '../../store/kennel/tasks/tasks.ts';
import { baseOf, commonBase } from '../../store/kennel/tasks/together.ts';
import { projectProfile } from '../../store/kennel/workspaces/project-profiles.ts';
import { asksWhoSigns, gitIdentity } from '../../store/kennel/workspaces/signatures.ts';
import type { Db } from '../../store/postgres/database.ts';
import type { KennelDeps } from '../activity-deps.ts';
import { fail } from '../failure.ts';
import { tellProgress } from '../progress.ts';
import { managersOf, namedRegistries } from './named-registries.ts';
import { AUTHOR, workspaceOf } from './task-workspace.ts';

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
  await checkBeside(deps, task);
  const prepared: Prepared = {
    harness: task.harness,
    ...(ask && { ask }),
    ...(notice && { notice }),
    ...(hosts && { hosts }),
  };
  if (!task.worktree) return prepared;
  const workspace = workspaceOf(config, task);
  const worktree = { op: 'worktree', key: task.id, author: AUTHOR } as const;
  const add = async (from: string | null): Promise<string | undefined> => {
    const added = await kennel.workspaceOp(workspace, { ...worktree, action: 'add', ...(from && { from }) });
    if (!added.ok) throw fail('NotFound', added.output);
    return (added.data as unknown as Worktree).commit;
  };
  const began = await add(task.from_branch ?? (task.race_id && (await baseOf(db, task.race_id))));
  // what an agent has committed since is no beginning
  if (task.race_id === null || began === undefined || task.step > 0) return prepared;
  const base = await commonBase(db, task.race_id, began);
  if (base === began) return prepared;
  // somebody committed between the first two
  await kennel.workspaceOp(workspace, { ...worktree, action: 'remove' });
  await add(base);
  return prepared;
}

/**
 * The message that asks whose name the commits shall have, with the first task of the owner; undefined for any other.
 */
async function askOnce(db: Db, task: Task): Promise<string | undefined> {
  if (task.step > 0) return undefined;
  const own = await gitIdentity(db, task.host);
  if (!own || !(await asksWhoSigns(db, task))) return undefined;
  const say = await sayTo(db, task.chat_id);
  return await tellOfTask(db, task, 'sign', say('sign.ask', { name: signature(own) }));
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
async function noticeOf(db: Db, task: Task, notes: readonly Told[]): Promise<string | undefined> {
  if (notes.length === 0) return undefined;
  const say = await sayTo(db, task.chat_id);
  const text = [`${task.workspace}:`, ...notes.map((note) => note(say))].join('\n');
  return await tellOfTask(db, task, 'environment', text, 'quoting');
}

/**
 * Path of the log-in file for an agent on this host. Throws a sentence when the file cannot be used, because the engine
 * would only say that a mount failed.
 */
export function loginOf({ FETCH_KENNEL_LOGINS }: Config, agent: AgentName): string | undefined {
  const path = loginsOf(FETCH_KENNEL_LOGINS).get(agent);
  const problem = path === undefined ? null : loginProblem(agent, path);
  if (problem) throw fail('NotFound', problem);
  return path;
}

/**
 * Before the first run of a task that can write: the question about the registries of its project that nobody has
 * decided yet. Null when there is none. A project whose settings cannot be read, or have changed since a person
 * decided, is asked about when a program wants a host.
 */
async function registriesToAsk(deps: KennelDeps, task: Task): Promise<Prepared['hosts'] | null> {
  const { config, db, log } = deps;
  const workspace = workspaceOf(config, task);
  if (!(await isBeforeWork(db, task))) return null;
  const decided = await managersDecided(db, task);
  const managers = (await managersOf(workspace)).filter((manager) => !decided.has(manager));
  if (managers.length === 0) return null;
  const listed = allowList(membersOf(config.FETCH_KENNEL_EGRESS));
  try {
    const found = await namedRegistries(deps, { workspace, managers, label: `${task.id} registries` });
    const questionId = await wantRegistries(db, task, found, listed);
    const title =
      config.FETCH_UI_TEXT === 'on' ? inline(found.map((at) => shownHost(at)).join(', '), 60) : 'its registries';
    return questionId === null ? null : { questionId, title };
  } catch (error) {
    cancellationSignal().throwIfAborted();
    log?.warn({ task: task.id, error: (error as Error).message }, 'the registries of a project could not be read');
    return null;
  }
}

/** No run that can write has begun, and the plan, if there is one, is agreed to. */
async function isBeforeWork(db: Db, task: Task): Promise<boolean> {
  return task.planning ? (await wordsToPlan(db, task))?.decision === 'allow' : task.step === 0;
}

/**
 * Has a project checked beside its task, when nobody has done that yet or the last check says little of it any more.
 * Nothing is asked for that, and an open question about it is taken back.
 */
async function checkBeside(deps: KennelDeps, task: Task): Promise<void> {
  const { config, db, kennel, temporal, log } = deps;
  const { id, host, workspace, chat_id: chatId } = task;
  if (task.step > 0) return;
  try {
    const withdrawn = await withdrawCheck(db, { host, workspace });
    if (withdrawn !== null) return await endBaseline(temporal, withdrawn);
    const { isKnown, checked, asked } = await projectProfile(db, { host, workspace });
    // a no holds
    if (!isKnown || asked) return;
    const op = { op: 'head', action: 'look', key: id, ...(checked && { since: checked.commit }) } as const;
    const looked = await kennel.workspaceOp(workspaceOf(config, task), op);
    if (!looked.ok || (checked && !isOutdated(checked, looked.data as unknown as HeadLook))) return;
    const channel = await channelOfChat(db, chatId);
    await startBaseline(temporal, config, { host, workspace, chatId, channel, asks: false, by: id });
  } catch (error) {
    cancellationSignal().throwIfAborted();
    // the tests before the task are then run at its end
    log?.warn({ task: id, error: (error as Error).message }, 'a project could not be checked beside its task');
  }
}
