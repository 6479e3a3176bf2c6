import { createHash } from 'node:crypto';
import type { DecidedBy } from '../../contracts/decision.ts';
import { visible } from '../../domain/text/foreign-text.ts';
import { prefix } from '../../domain/text/storable.ts';
import type { Tx } from '../postgres/database.ts';

/** What receipts say of turns and tasks. Names of fields belong to the format: later versions only add some. */

type Bodies = Map<string, Record<string, unknown>>;

const digestOf = (text: string): string => createHash('sha256').update(text).digest('hex');
const timeOf = (at: Date | null): string | null => at?.toISOString() ?? null;

/** Rows by one of their columns. */
function grouped<T>(rows: readonly T[], of: (row: T) => string | null): Map<string, T[]> {
  const groups = new Map<string, T[]>();
  for (const row of rows) {
    const name = of(row);
    if (name !== null) groups.set(name, [...(groups.get(name) ?? []), row]);
  }
  return groups;
}

export async function turnBodies(tx: Tx, ids: readonly string[]): Promise<Bodies> {
  if (ids.length === 0) return new Map();
  const turns = await tx.selectFrom('turns').selectAll().where('id', 'in', ids).execute();
  const steps = await tx
    .selectFrom('steps')
    .select(['turn_id', 'model', 'input_tokens', 'output_tokens', 'micro_usd'])
    .where('turn_id', 'in', ids)
    .orderBy('step')
    .execute();
  const calls = await tx
    .selectFrom('calls')
    .select(['id', 'turn_id', 'name', 'args', 'policy', 'kind', 'state', 'ok', 'started_at', 'ended_at'])
    .where('turn_id', 'in', ids)
    .orderBy('step')
    .orderBy('position')
    .execute();
  const threads = [...new Set(turns.map(({ thread_id }) => thread_id))];
  const tasks = await tx
    .selectFrom('tasks')
    .select(['id', 'turn_id'])
    .where('thread_id', 'in', threads) // its index
    .where('turn_id', 'in', ids)
    .execute();
  const asked = await approvals(tx, 'turn_id', ids);
  const [stepsOf, callsOf, tasksOf, askedOf] = [
    grouped(steps, (each) => each.turn_id),
    grouped(calls, (each) => each.turn_id),
    grouped(tasks, (each) => each.turn_id),
    grouped(asked, (each) => (each.task_id === null ? each.turn_id : null)),
  ];
  return new Map(
    turns.map((turn) => {
      const used = stepsOf.get(turn.id) ?? [];
      const sum = (of: (step: (typeof used)[number]) => number) => used.reduce((total, step) => total + of(step), 0);
      const questions = askedOf.get(turn.id) ?? [];
      const denied = new Set(questions.flatMap((each) => (each.decision === 'deny' ? [each.call_id] : [])));
      const made = callsOf.get(turn.id) ?? [];
      const body = {
        kind: 'turn',
        id: turn.id,
        thread: turn.thread_id,
        status: turn.status,
        created_at: timeOf(turn.created_at),
        ended_at: timeOf(turn.ended_at),
        models: [...new Set(used.map(({ model }) => model))],
        calls: made.map((call) => ({
          name: call.name,
          outcome: denied.has(call.id) ? 'refused' : call.state !== 'done' ? 'unknown' : call.ok ? 'done' : 'failed',
          arguments: digestOf(JSON.stringify(call.args)),
          // nobody was asked about it, because the owner allows its kind
          ...(call.policy === 'run' && call.kind?.judged && { judged_by: call.kind.judged.by }),
          started_at: timeOf(call.started_at),
          ended_at: timeOf(call.ended_at),
        })),
        approvals: questions.map(approvalOf),
        hosts: [...new Set(made.flatMap(({ args }) => hostIn(args)))],
        spend: {
          input_tokens: sum((step) => step.input_tokens),
          output_tokens: sum((step) => step.output_tokens),
          micro_usd: sum((step) => step.micro_usd),
        },
        tasks: (tasksOf.get(turn.id) ?? []).map(({ id }) => id),
      };
      return [turn.id, body];
    }),
  );
}

/** The host of a page or server that a call names. */
function hostIn({ url }: Record<string, unknown>): string[] {
  return typeof url === 'string' && URL.canParse(url) ? [new URL(url).host].filter(Boolean) : [];
}

export async function taskBodies(tx: Tx, ids: readonly string[]): Promise<Bodies> {
  if (ids.length === 0) return new Map();
  const tasks = await tx.selectFrom('tasks').selectAll().where('id', 'in', ids).execute();
  const usage = await tx.selectFrom('task_usage').selectAll().where('task_id', 'in', ids).orderBy('model').execute();
  const hosts = await tx
    .selectFrom('task_egress')
    .selectAll()
    .where('task_id', 'in', ids)
    .orderBy('host')
    .orderBy('port')
    .execute();
  const asked = await approvals(tx, 'task_id', ids);
  const [usageOf, hostsOf, askedOf] = [
    grouped(usage, (each) => each.task_id),
    grouped(hosts, (each) => each.task_id),
    grouped(asked, (each) => each.task_id),
  ];
  return new Map(
    tasks.map((task) => {
      const { changes = null, tests = null, verdict = null, parts = [] } = task.result ?? {};
      const ran = [...(tests ? [tests] : []), ...parts.map((each) => ({ ...each, ok: each.state === 'passed' }))];
      const body = {
        kind: 'task',
        id: task.id,
        thread: task.thread_id,
        turn: task.turn_id,
        agent: task.harness,
        workspace: task.workspace,
        goal: digestOf(task.goal),
        status: task.state,
        created_at: timeOf(task.created_at),
        ended_at: timeOf(task.ended_at),
        approvals: (askedOf.get(task.id) ?? []).map(approvalOf),
        hosts: (hostsOf.get(task.id) ?? []).map(({ host, port, connections, refused, sent, received }) => ({
          ...{ host, port, connections, refused, sent, received },
        })),
        spend: (usageOf.get(task.id) ?? []).map(({ model, calls, input_tokens, output_tokens, micro_usd }) => ({
          ...{ model, calls, input_tokens, output_tokens, micro_usd },
        })),
        // the state that "undo" returns to has the task's id
        checkpoint: task.step > 0 ? task.id : null,
        commit: changes?.commit ?? null,
        branch: changes?.branch ?? null,
        changed: changes && {
          files: changes.filesChanged ?? changes.files.length,
          added: changes.added,
          removed: changes.removed,
        },
        checks: ran.map(({ command, ok, output }) => ({ command, passed: ok, last_line: lastLine(output) })),
        verdict: verdict && { level: verdict.level, reasons: verdict.reasons },
      };
      return [task.id, body];
    }),
  );
}

const LINE_CHARS = 300;
const lastLine = (output: string): string => prefix(visible(output).trimEnd().split('\n').at(-1)!.trim(), LINE_CHARS);

const approvals = (tx: Tx, column: 'turn_id' | 'task_id', ids: readonly string[]) =>
  tx
    .selectFrom('questions')
    .select([
      ...(['turn_id', 'task_id', 'call_id', 'kind', 'prompt', 'evidence', 'shown'] as const),
      ...(['asked_at', 'state', 'decision', 'remember', 'decided_at', 'decided_by'] as const),
    ])
    .where(column, 'in', ids)
    .where('kind', '!=', 'question')
    .orderBy('asked_at')
    .orderBy('id')
    .execute();

type Approval = Awaited<ReturnType<typeof approvals>>[number];

function approvalOf({ kind, prompt, evidence, shown, ...asked }: Approval) {
  const text = !evidence ? prompt : `${prompt}\n${evidence.slice(0, shown)}`;
  return {
    kind,
    shown: text,
    shown_sha256: digestOf(text),
    asked_at: timeOf(asked.asked_at),
    state: asked.state,
    decision: asked.decision,
    for_all: asked.remember,
    decided_at: timeOf(asked.decided_at),
    decided_by: asked.decided_by && whoDecided(asked.decided_by),
  };
}

/** Of a number or an address its end, which tells people apart. */
const whoDecided = ({ role, channel, id, standing }: DecidedBy) => ({
  role,
  channel: channel ?? null,
  id: id === undefined ? null : `…${id.split('@')[0]!.slice(-4)}`,
  by_earlier_yes: standing !== undefined,
});
