import type { OwnerChat, OwnerRunning } from '../../../contracts/owner.ts';
import { inline } from '../../../domain/text/foreign-text.ts';
import type { RunningRoutine, RunningTask, RunningTurn } from '../../../store/owner/views/running.ts';
import { post, usdOf } from '../shared.ts';
import { ordersOf } from '../work/task-actions.ts';

const TITLE_CHARS = 200;

export function turnView(turn: RunningTurn, chat: OwnerChat): OwnerRunning {
  const { wait, wait_until: until, asked, tools } = turn;
  return {
    kind: 'turn',
    id: turn.id,
    chat,
    title: inline(turn.input_summary, TITLE_CHARS),
    state: asked ? 'waiting' : wait ? 'limited' : 'running',
    doing: wait ? `waits for ${wait}` : asked ? 'waits for your answer' : tools.length > 0 ? tools.join(', ') : null,
    since: turn.since.toISOString(),
    until: wait && until ? until.toISOString() : null,
    cost_usd: usdOf(turn.micro_usd),
    actions: [post('stop', `/v1/threads/${turn.thread_id}/turns/${turn.id}/interrupt`)],
  };
}

/** `asking`: a person has not answered its question yet. */
export function taskView(task: RunningTask, chat: OwnerChat, asking: boolean): OwnerRunning {
  const limited = task.limited_until !== null && task.state === 'waiting';
  return {
    kind: 'task',
    id: task.id,
    chat,
    title: inline(task.goal, TITLE_CHARS),
    state: asking
      ? 'waiting'
      : limited
        ? 'limited'
        : task.state === 'queued' || task.state === 'waiting' || task.state === 'paused'
          ? task.state
          : 'running',
    doing: task.last === null ? null : inline(task.last, TITLE_CHARS),
    since: task.since.toISOString(),
    until: limited ? task.limited_until!.toISOString() : null,
    cost_usd: usdOf(task.micro_usd),
    actions: ordersOf(task),
  };
}

export const routineView = (run: RunningRoutine, chat: OwnerChat): OwnerRunning => ({
  kind: 'routine',
  id: run.id,
  chat,
  title: inline(run.routine_name, TITLE_CHARS),
  state: 'running',
  doing: `${run.done} of ${run.steps} steps done${run.last ? `, the last was ${inline(run.last, 80)}` : ''}`,
  since: run.started_at.toISOString(),
  until: null,
  cost_usd: 0,
  actions: [],
});
