import { activityInfo, cancellationSignal } from '@temporalio/activity';
import { deleteSchedule } from '../adapters/schedules.ts';
import { kennelQueue } from '../contracts/ids.ts';
import type { CloseInput, OpenedRun, OpenInput, RoutineActivities, StepInput, StepResult } from '../contracts/routine.ts';
import type { Source } from '../contracts/taint.ts';
import { decideUnattended } from '../domain/consent/policy.ts';
import { whyAsked } from '../domain/consent/taint.ts';
import { closedTo } from '../domain/consent/tool-access.ts';
import { firingNote, isOvertaken } from '../domain/cron.ts';
import { prefix } from '../domain/text/storable.ts';
import { chatAccess, chatAutonomy } from '../store/chats/threads.ts';
import { hostOfChat } from '../store/kennel/hosts.ts';
import { findCron } from '../store/routines/crons.ts';
import { findRoutine } from '../store/routines/routines.ts';
import { beginOnce, closeRun, findRun, openRun, type RoutineRun, runningRun, type StepOutcome, storeStep } from '../store/routines/runs.ts';
import { recordNotice } from '../store/turns/complete-turn.ts';
import { tools } from '../tools/registry.ts';
import { dangerOf, endedByRestart, restarted, type ToolOutcome } from '../tools/tool.ts';
import type { ActivityDeps, HostDeps } from './deps.ts';
import { asFailure, fail } from './failure.ts';
import { beat } from './heartbeat.ts';
import { taskMadeBy } from './task/input.ts';
import { ATTEMPTS } from './turn/act.ts';
import { taintUnattended } from './turn/provenance.ts';

const UNKNOWN_OUTCOME =
  'The outcome of this step is unknown: what ran it was lost before it ended. It may or may not have happened and is not run again by itself.';

export function createRoutineActivities(deps: Pick<ActivityDeps, 'db' | 'temporal' | 'config'> & Partial<HostDeps>): RoutineActivities {
  const { db, config } = deps;
  return {
    /** Null when the routine or its chat is gone. */
    openRun: async (input: OpenInput): Promise<OpenedRun | null> => {
      try {
        const [routine, chat] = await Promise.all([findRoutine(db, input.chatId, input.routineId), chatAutonomy(db, input.chatId)]);
        const scheduledFor = input.scheduledFor ? new Date(input.scheduledFor) : null;
        const cron = input.cronId && scheduledFor ? await findCron(db, input.chatId, input.cronId) : undefined;
        if (input.cronId && scheduledFor && !cron) {
          // deleted by hand, or by a call that was killed half way: it would fire for ever
          await deleteSchedule(deps.temporal, input.cronId);
          return null;
        }
        if (!chat) return null;
        if (!routine) {
          // deleted while it ran, and its workflow was lost: what it did is still to be told
          const run = await findRun(db, input.runId);
          return run && input.ended !== undefined ? { name: run.routine_name, channel: chat.channel, steps: [] } : null;
        }
        let note: string | null = null;
        if (cron && scheduledFor && !(await findRun(db, input.runId))) {
          const now = new Date();
          const unopened = { name: routine.name, channel: chat.channel, steps: [] };
          if (isOvertaken(cron.schedule, cron.time_zone, scheduledFor, now)) return { ...unopened, coalesced: true };
          // one whose workflow is gone is taken up again, or ended and told, by whoever compares the store with the server
          if (await runningRun(db, routine.id)) return { ...unopened, wait: true };
          const from = cron.last_fired && cron.last_fired > cron.enabled_since ? cron.last_fired : cron.enabled_since;
          note = firingNote({ schedule: cron.schedule, timeZone: cron.time_zone }, from, scheduledFor, now);
        }
        await openRun(db, { id: input.runId, routine, cronId: input.cronId ?? null, workflowId: input.workflowId, scheduledFor, note });
        const steps = await Promise.all(
          routine.steps.map(async ({ tool: name }) => {
            const tool = tools.get(name);
            const host = tool?.place === 'kennel' ? await hostOfChat(db, input.chatId, config.FETCH_KENNEL_HOST, tool.anyHost === true) : null;
            return {
              tool: name,
              effect: tool?.effect ?? ('idempotent' as const),
              timeoutMs: tool?.timeoutMs ?? 10_000,
              ...(host && { queue: kennelQueue(host) }),
            };
          }),
        );
        return { name: routine.name, channel: chat.channel, steps };
      } catch (error) {
        throw asFailure(error);
      }
    },

    /** One step; its outcome is stored once, and a repeated attempt takes the stored one. */
    runRoutineStep: async ({ runId, index, settle }: StepInput): Promise<StepResult> => {
      const stop = beat();
      try {
        const run = await findRun(db, runId);
        if (!run) throw fail('NotFound', `Run ${runId} is not in the database.`);
        const stored = run.results[index];
        const made = (tool: string, ok: boolean) => taskMadeBy({ db, config }, { id: `${runId}_${index}`, name: tool }, ok);
        if (stored) return { ok: stored.ok, ...(await made(stored.tool, stored.ok)) };
        const routine = await findRoutine(db, run.chat_id, run.routine_id);
        // deleted meanwhile: the run ends, and no step of it has failed
        if (!routine && settle === undefined) return { ok: false };
        const step = routine?.steps[index];
        const label = { name: step?.name ?? `step-${index + 1}`, tool: step?.tool ?? 'unknown' };
        const outcome = settle !== undefined ? { ok: false, output: settle } : await runTool(run, index, step, routine?.sources ?? []);
        const { ok } = await storeStep(db, runId, index, { ...label, ok: outcome.ok, output: outcome.output });
        return { ok, ...(await made(label.tool, ok)) };
      } catch (error) {
        throw asFailure(error);
      } finally {
        stop();
      }
    },

    /** Closes the run and puts its result into the outbox of its chat; the outbox id, the same on every attempt. */
    closeRun: async ({ runId, status, steps, reason }: CloseInput): Promise<string> => {
      try {
        const before = await findRun(db, runId);
        if (!before) throw fail('NotFound', `Run ${runId} is not in the database.`);
        const ended = status === 'failed' && before.results.every((result) => result.ok) && !(await findRoutine(db, before.chat_id, before.routine_id));
        const why = reason ?? (ended ? 'the workflow was deleted while it ran' : undefined);
        const run = await closeRun(db, runId, status, summaryOf(before.results, status, steps, why));
        const outboxId = `out_${runId}_result`;
        await recordNotice(db, { chatId: run.chat_id, outboxId, text: resultText(run), kind: 'result', sources: sourcesOfRun(run) });
        return outboxId;
      } catch (error) {
        throw asFailure(error);
      }
    },
  };

  async function runTool(
    run: RoutineRun,
    index: number,
    step: { tool: string; args: Record<string, unknown> } | undefined,
    sources: readonly Source[],
  ): Promise<ToolOutcome> {
    if (!step) return { ok: false, output: 'The workflow was deleted while it ran.' };
    const tool = tools.get(step.tool);
    if (!tool) return { ok: false, output: `The tool ${step.tool} is no longer there.` };
    // looked at again: the chat may trust the agent less than when the routine was made
    const [chat, access] = await Promise.all([chatAutonomy(db, run.chat_id), chatAccess(db, run.chat_id)]);
    const closed = access && closedTo(tool, access);
    if (closed) return { ok: false, output: closed };
    if (decideUnattended(dangerOf(tool, step.args), chat?.autonomy ?? 'supervised') === 'refuse') {
      return { ok: false, output: `${tool.name} is ${tool.danger} and would need your consent now; nobody can be asked while a workflow runs.` };
    }
    const parsed = tool.schema.safeParse(step.args);
    if (!parsed.success) return { ok: false, output: `The stored arguments no longer fit ${tool.name}: ${parsed.error.message}` };
    const taint = await taintUnattended(db, run.chat_id, sources, tool, parsed.data as Record<string, unknown>);
    if (decideUnattended(tool.danger, chat?.autonomy ?? 'supervised', taint) === 'refuse')
      return { ok: false, output: `${tool.name} was not run. ${whyAsked(taint!)} Nobody can be asked while a workflow runs: ask for it in the chat.` };
    if (tool.effect === 'once' && !(await beginOnce(db, run.id, index))) return { ok: false, output: UNKNOWN_OUTCOME };
    const signal = AbortSignal.any([cancellationSignal(), AbortSignal.timeout(tool.timeoutMs)]);
    try {
      // no turn and no thread stand behind a run: its own id takes their place
      return await tool.run(parsed.data as never, { ...deps, callId: `${run.id}_${index}`, chatId: run.chat_id, threadId: run.id, turnId: run.id, signal });
    } catch (error) {
      if (endedByRestart(cancellationSignal()) && tool.effect === 'once') return { ok: false, output: restarted(tool.name) };
      if (cancellationSignal().aborted) throw error;
      if (signal.aborted) return { ok: false, output: `${tool.name} took longer than ${Math.round(tool.timeoutMs / 1000)} s and was stopped.` };
      if (tool.effect === 'once') return { ok: false, output: `${tool.name} failed: ${(error as Error).message}. Whether it had an effect is unknown.` };
      if (activityInfo().attempt >= ATTEMPTS) return { ok: false, output: `${tool.name} failed: ${(error as Error).message}` };
      throw error;
    }
  }
}

/** Others whose text the result of a run may hold: those that its tools read. */
function sourcesOfRun(run: RoutineRun): Source[] {
  const reads = run.results.some((result) => tools.get(result.tool)?.reads.length);
  return reads ? [{ kind: 'routine', label: run.routine_name }] : [];
}

export function summaryOf(results: StepOutcome[], status: 'completed' | 'failed', steps: number, reason?: string): string {
  const done = results.filter((result) => result.ok).length;
  const failed = results.find((result) => !result.ok);
  if (status === 'completed') return `${done} of ${steps} steps done`;
  return `${done} of ${steps} steps done${failed ? `, step ${results.indexOf(failed) + 1} (${failed.name}) failed` : ''}${reason ? `; ${reason}` : ''}`;
}

/** What the chat gets: the summary, a line for each step, and what the last one said. */
export function resultText(run: Pick<RoutineRun, 'routine_name' | 'status' | 'summary' | 'results'> & { note?: string | null }): string {
  const last = run.results.at(-1);
  const lines = run.results.map((result, index) => `${index + 1}. ${result.name} (${result.tool}): ${result.ok ? 'done' : 'failed'}`);
  const excerpt = last && (last.output.length > 3000 ? `${prefix(last.output, 3000)}\n[cut]` : last.output);
  return [`Workflow "${run.routine_name}" ${run.status}: ${run.summary}.`, run.note, lines.join('\n'), excerpt].filter(Boolean).join('\n\n');
}
