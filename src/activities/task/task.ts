import { setTimeout as pause } from 'node:timers/promises';
import { cancellationSignal } from '@temporalio/activity';
import type { Autonomy } from '../../contracts/conversation.ts';
import type { RunSpec } from '../../contracts/kennel.ts';
import type { BeginInput, TaskActivities } from '../../contracts/task.ts';
import { askedLine } from '../../store/kennel/task-log.ts';
import { findQuestion } from '../../store/kennel/task-questions.ts';
import { findTask, setTaskState, type Task } from '../../store/kennel/tasks.ts';
import { chatAutonomy } from '../../store/routines.ts';
import { asFailure, fail } from '../failure.ts';
import { beat } from '../heartbeat.ts';
import { createConclude } from './conclude.ts';
import type { KennelDeps } from './deps.ts';
import { createFollow } from './follow.ts';
import { modelNameFor } from './harness-model.ts';
import { gateFolder, readLog, runFolder, sendCommand } from './run-folder.ts';
import { AUTHOR, workspaceOf } from './workspace.ts';

/** A harness that was told to stop gets this long to end in order; then its container is killed. */
const LEAVE_MS = 2_000;

export function createTaskActivities(deps: KennelDeps): TaskActivities {
  const { db, config, kennel } = deps;

  /** Runs with heartbeats, so that a dead worker is noticed, and in the vocabulary of failures. */
  const guarded =
    <I extends { taskId: string }, O>(run: (task: Task, input: I) => Promise<O>) =>
    async (input: I): Promise<O> => {
      const stop = beat();
      try {
        const task = await findTask(db, input.taskId);
        if (!task) throw fail('NotFound', `Task ${input.taskId} is not in the database.`);
        return await run(task, input);
      } catch (error) {
        throw asFailure(error);
      } finally {
        stop();
      }
    };

  return {
    prepareTask: guarded(async (task) => {
      await kennel.ready();
      await kennel.provide(task.harness, (text) => void setTaskState(db, task.id, 'running', { last: text }).catch(() => {}), cancellationSignal());
      const made = await kennel.workspaceOp(workspaceOf(config, task), { op: 'checkpoint', key: task.id, author: AUTHOR }, { label: `${task.id} checkpoint` });
      if (!made.ok) throw fail('NotFound', made.output);
    }),

    beginStep: guarded(async (task, input: BeginInput) => {
      const folder = runFolder(config, task.id);
      await openGate(deps, task);
      const spec: RunSpec = {
        version: 1,
        taskId: task.id,
        step: input.step,
        harness: task.harness,
        prompt: await promptOf(task, input),
        sessionId: input.step === 1 ? null : task.session_id,
        model: modelNameFor(task.harness, config),
        permissions: (await autonomyOf(task)) === 'autonomous' ? 'run' : 'ask',
        holdMs: input.holdMs,
      };
      await kennel.start({ spec, runFolder: folder, workspace: workspaceOf(config, task), env: {} });
      await setTaskState(db, task.id, 'running', { step: input.step });
    }),

    follow: createFollow(deps),

    passOn: guarded(async (task, { step, questionId }) => {
      const question = await findQuestion(db, questionId);
      if (!question) throw fail('NotFound', `Question ${questionId} is not in the database.`);
      const asked = questionId.slice(task.id.length + 1);
      const folder = runFolder(config, task.id);
      if (question.kind === 'approval') {
        await sendCommand(folder, { id: questionId, step, type: 'permit', permissionId: asked, decision: question.decision === 'allow' ? 'allow' : 'deny' });
      } else {
        await sendCommand(folder, { id: questionId, step, type: 'answer', questionId: asked, answer: question.answer ?? NOBODY });
      }
    }),

    endStep: guarded(async (task, { step }) => {
      const container = await kennel.inspect(task.id, step);
      if (container && container.state !== 'exited') {
        // a frozen process hears nothing
        if (container.state === 'paused') await kennel.setPaused(task.id, step, false);
        await sendCommand(runFolder(config, task.id), { id: `${task.id}_end_${step}`, step, type: 'cancel' });
        const patience = Date.now() + LEAVE_MS;
        while (Date.now() < patience && (await kennel.inspect(task.id, step))?.state === 'running') await pause(100);
      }
      await kennel.remove(task.id, step);
    }),

    setPaused: guarded(async (task, { step, paused }) => await kennel.setPaused(task.id, step, paused)),

    conclude: guarded(createConclude(deps)),
  };

  async function promptOf(task: Task, input: BeginInput): Promise<string> {
    const question = input.answerOf ? await findQuestion(db, input.answerOf) : undefined;
    // it takes every word as it stands
    if (task.harness === 'practice') return question ? (question.answer ?? question.decision ?? NOBODY) : task.goal;
    if (input.answerOf) {
      const line = await askedLine(db, task.id, input.answerOf.slice(task.id.length + 1));
      if (question?.kind === 'approval')
        return question.decision === 'allow'
          ? `The person has allowed it: ${line?.type === 'permission' ? line.title : question.prompt}. Go on.`
          : `The person has not allowed it: ${line?.type === 'permission' ? line.title : question.prompt}. Go on without it, or say what that means.`;
      return `You asked: ${question?.prompt ?? ''}\nThe person answers: ${question?.answer ?? NOBODY}\nGo on.`;
    }
    if (input.step === 1) return task.goal;
    if (task.session_id) return 'You were interrupted. Look at what is done already, and go on where you stopped.';
    const begun = (await readLog(runFolder(config, task.id), 0)).lines.length > 0;
    return begun ? `${task.goal}\n\n(An earlier attempt at this was interrupted: look at what is done already before you go on.)` : task.goal;
  }

  async function autonomyOf(task: Task): Promise<Autonomy> {
    return (await chatAutonomy(db, task.chat_id))?.autonomy ?? 'supervised';
  }
}

const NOBODY = 'Nobody answered in time. Go on without it where that is safe, or say what is missing.';

/** Opens the way out of a run: its own sockets, its own budget, and only the hosts that are allowed. */
export async function openGate({ config, gate }: Pick<KennelDeps, 'config' | 'gate'>, task: Task): Promise<void> {
  await gate.open({
    taskId: task.id,
    folder: gateFolder(config, task.id),
    budget: { maxTokens: config.FETCH_TASK_MAX_TOKENS, maxMicroUsd: Math.round(config.FETCH_TASK_MAX_USD * 1_000_000) },
    allow: config.FETCH_KENNEL_EGRESS.split(',').flatMap((host) => host.trim() || []),
  });
}
