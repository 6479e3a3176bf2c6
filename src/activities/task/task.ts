import { setTimeout as pause } from 'node:timers/promises';
import { cancellationSignal } from '@temporalio/activity';
import { loginProblem } from '../../adapters/kennel/login.ts';
import type { Config } from '../../config.ts';
import type { Autonomy } from '../../contracts/conversation.ts';
import { type Command, type HarnessName, type RunSpec, worktreeOf } from '../../contracts/kennel.ts';
import type { BeginInput, TaskActivities } from '../../contracts/task.ts';
import { taskBudget } from '../../domain/model/budgets.ts';
import { harnesses, modelOf } from '../../domain/tasks/harnesses.ts';
import { loginsOf } from '../../domain/tasks/logins.ts';
import { chatAutonomy } from '../../store/chats/threads.ts';
import { unsettledLine } from '../../store/kennel/task-log.ts';
import { findQuestion, taskQuestionId } from '../../store/kennel/task-questions.ts';
import { findTask, isOver, setTaskNews, setTaskState, type Task } from '../../store/kennel/tasks.ts';
import { isAllowed, type Question } from '../../store/questions/questions.ts';
import { asFailure, fail } from '../failure.ts';
import { beat } from '../heartbeat.ts';
import { createConclude } from './conclude.ts';
import type { KennelDeps } from './deps.ts';
import { createFollow } from './follow.ts';
import { requireHeld } from './held.ts';
import { GONE_FACTOR } from './records.ts';
import { gateFolder, readLog, runFolder, sendCommand } from './run/folder.ts';
import { AUTHOR, place, workspaceOf } from './workspace.ts';

/** A harness that was told to stop gets this long to end in order; then its container is killed. */
const LEAVE_MS = 2_000;

export function createTaskActivities(deps: KennelDeps): TaskActivities {
  const { db, config, kennel } = deps;

  /** Runs with heartbeats, so that a dead worker is noticed, and in the vocabulary of failures. */
  const guarded =
    <I extends { taskId: string }, O>(run: (task: Task, input: I) => Promise<O>, ends = false) =>
    async (input: I): Promise<O> => {
      const stop = beat();
      try {
        const task = await findTask(db, input.taskId);
        if (!task) throw fail('NotFound', `Task ${input.taskId} is not in the database.`);
        // its workflow was put back to an earlier time: nothing of it is begun again
        if (!ends && isOver(task.state)) throw fail('NotFound', `Task ${input.taskId} is over.`);
        requireHeld(deps, task);
        return await run(task, input);
      } catch (error) {
        throw asFailure(error);
      } finally {
        stop();
      }
    };

  return {
    prepareTask: guarded(async (task) => {
      loginOf(task.harness);
      await kennel.ready();
      // an image that is half built is finished by the next process, from its layers
      const stopped = AbortSignal.any([cancellationSignal(), deps.draining]);
      await kennel.provide(task.harness, (text) => void setTaskNews(db, task.id, text).catch(() => {}), stopped);
      if (task.worktree) {
        const workspace = workspaceOf(config, task);
        const added = await kennel.workspaceOp(workspace, { op: 'worktree', action: 'add', key: task.id, author: AUTHOR }, { label: `${task.id} worktree` });
        if (!added.ok) throw fail('NotFound', added.output);
      }
    }),

    beginStep: guarded(async (task, input: BeginInput) => {
      const folder = runFolder(config, task.id);
      const login = loginOf(task.harness);
      await openGate(deps, task);
      // an agent that asks for the same thing again has its answer at once
      const unheard = await unheardAnswer(task);
      if (unheard) await passOn(task, input.step, unheard.id);
      const prompt = await promptOf(task, input, unheard);
      const goesOn = input.step > 1 && task.session_id !== null;
      const spec: RunSpec = {
        version: 1,
        taskId: task.id,
        step: input.step,
        harness: task.harness,
        prompt,
        sessionId: goesOn ? task.session_id : null,
        // the practice agent takes every word as it stands
        ...(goesOn && task.harness !== 'practice' && { anew: [onceMore(task), ...(unheard ? [prompt] : [])].join('\n\n') }),
        model: modelOf(task.harness, config),
        // the container is the sandbox: only who wants to see every step is asked for each
        permissions: (await autonomyOf(task)) === 'supervised' ? 'ask' : 'run',
        holdMs: input.holdMs,
        ...(login !== undefined && { login: true }),
        ...(task.worktree && { worktree: worktreeOf(task.id) }),
        aloneMs: aloneMs(config),
        waits: true,
      };
      const workspace = workspaceOf(config, task);
      let remembered = Promise.resolve();
      // a container takes as long to start as the checkpoint to be made: side by side, and the harness starts when there is a way back
      const onPlace = () => {
        if (input.checkpoint) remembered = checkpoint(task, workspace);
        remembered.catch(() => {});
      };
      let token: string;
      requireHeld(deps, task);
      try {
        token = await kennel.start({ spec, runFolder: folder, workspace, ...(login !== undefined && { login }), env: {}, onPlace });
      } finally {
        await remembered;
      }
      requireHeld(deps, (await findTask(db, task.id)) ?? task);
      // before the harness starts: a task of step 0 has changed nothing
      await setTaskState(db, task.id, 'running', { step: input.step });
      await sendCommand(folder, { id: `${task.id}_begin_${token}`, step: input.step, type: 'begin', token });
    }),

    follow: createFollow(deps),

    passOn: guarded(async (task, { step, questionId }) => await passOn(task, step, questionId)),

    endStep: guarded(async (task, { step }) => {
      const container = await kennel.inspect(task.id, step);
      if (container && container.state !== 'exited') {
        // a frozen process hears nothing
        if (container.state === 'paused') await kennel.setPaused(task.id, step, false);
        await sendCommand(runFolder(config, task.id), { id: `${task.id}_end_${step}`, step, type: 'cancel' });
        const patience = Date.now() + LEAVE_MS;
        while (Date.now() < patience && (await kennel.inspect(task.id, step))?.state === 'running') await pause(25);
      }
      await kennel.remove(task.id, step);
    }, true),

    setPaused: guarded(async (task, { step, paused }) => await kennel.setPaused(task.id, step, paused)),

    conclude: guarded(createConclude(deps), true),
  };

  /** Path of the log-in that a harness is given on this host. Throws a sentence when it cannot be given, where the engine would only say that a mount failed. */
  function loginOf(harness: HarnessName): string | undefined {
    const path = loginsOf(config.FETCH_KENNEL_LOGINS).get(harness);
    const problem = path === undefined ? null : loginProblem(harness, path);
    if (problem) throw fail('NotFound', problem);
    return path;
  }

  async function checkpoint(task: Task, workspace: string): Promise<void> {
    const made = await kennel.workspaceOp(
      workspace,
      { ...place(task), op: 'checkpoint', key: task.id, author: AUTHOR },
      {
        label: `${task.id} checkpoint`,
        keepAs: task.id,
      },
    );
    if (!made.ok) throw fail('NotFound', made.output);
  }

  /** Writes a decision where the runner of this step reads it. */
  async function passOn(task: Task, step: number, questionId: string): Promise<void> {
    const question = await findQuestion(db, questionId);
    if (!question) throw fail('NotFound', `Question ${questionId} is not in the database.`);
    // a decision that the store does not know is none: the agent waits on
    if (question.state === 'open') return;
    const asked = questionId.slice(task.id.length + 1);
    const id = `${questionId}_${step}`;
    const command: Command =
      question.kind === 'approval'
        ? { id, step, type: 'permit', permissionId: asked, decision: isAllowed(question) ? 'allow' : 'deny' }
        : { id, step, type: 'answer', questionId: asked, answer: question.answer ?? NOBODY };
    await sendCommand(runFolder(config, task.id), command);
  }

  /** The decided question whose answer the agent has not acknowledged: its session ended with it, or was ended. */
  async function unheardAnswer(task: Task): Promise<Question | undefined> {
    const line = await unsettledLine(db, task.id);
    const question = line ? await findQuestion(db, taskQuestionId(task.id, line.id)) : undefined;
    return question && question.state !== 'open' ? question : undefined;
  }

  async function promptOf(task: Task, input: BeginInput, unheard: Question | undefined): Promise<string> {
    // it takes every word as it stands
    if (task.harness === 'practice') return unheard?.kind === 'question' ? (unheard.answer ?? NOBODY) : task.goal;
    if (unheard?.kind === 'approval')
      return isAllowed(unheard)
        ? `${unheard.prompt}\nThe person has allowed it. Go on.`
        : `${unheard.prompt}\nThe person has not allowed it. Go on without it, or say what that means.`;
    if (unheard) return `You asked: ${unheard.prompt}\nThe person answers: ${unheard.answer ?? NOBODY}\nGo on.`;
    if (input.step === 1) return task.goal;
    if (task.session_id) return 'You were interrupted. Look at what is done already, and go on where you stopped.';
    const begun = (await readLog(runFolder(config, task.id), 0)).lines.length > 0;
    return begun ? onceMore(task) : task.goal;
  }

  async function autonomyOf(task: Task): Promise<Autonomy> {
    return (await chatAutonomy(db, task.chat_id))?.autonomy ?? 'supervised';
  }
}

/** Well before its task may go on at another host: at this part of that time. */
const ALONE_PART = 0.7;
const aloneMs = ({ FETCH_KENNEL_AWAY_SECONDS }: Config): number => Math.round(FETCH_KENNEL_AWAY_SECONDS * GONE_FACTOR * ALONE_PART * 1_000);

const onceMore = (task: Task): string => `${task.goal}\n\n(An earlier attempt at this was interrupted: look at what is done already before you go on.)`;

const NOBODY = 'Nobody answered in time. Go on without it where that is safe, or say what is missing.';

/** Opens the way out of a run: its own sockets, its own budget, and only the hosts that are allowed. */
export async function openGate({ config, gate }: Pick<KennelDeps, 'config' | 'gate'>, task: Task): Promise<void> {
  await gate.open({
    taskId: task.id,
    folder: gateFolder(config, task.id),
    budget: taskBudget(config),
    allow: allowedHosts(config, task.harness),
  });
}

/** Hosts that a harness may reach besides the model: those of the setting, and its provider's own where it has a log-in there. */
function allowedHosts({ FETCH_KENNEL_EGRESS, FETCH_KENNEL_LOGINS }: Config, harness: HarnessName): string[] {
  const listed = FETCH_KENNEL_EGRESS.split(',').flatMap((host) => host.trim() || []);
  return loginsOf(FETCH_KENNEL_LOGINS).has(harness) ? [...listed, ...harnesses[harness].loginHosts] : listed;
}
