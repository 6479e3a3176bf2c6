import {
  type Client,
  QueryNotRegisteredError,
  type WorkflowExecutionStatusName,
  WorkflowNotFoundError,
} from '@temporalio/client';
import { LRUCache } from 'lru-cache';
import { holdsQuery } from '../../../contracts/signals.ts';
import { isStuck, STUCK, startOver } from './start-over.ts';

/** Time limits in ms: for a call to the server, and for a query, which a worker answers. */
const CALL_MS = 10_000;
const QUERY_MS = 5_000;
/** workflows */
const REMEMBERED = 20_000;

export type Held =
  | { status: 'RUNNING'; missing: string[] }
  | { status: Exclude<WorkflowExecutionStatusName, 'RUNNING'> | 'GONE'; closedAt: Date | null };

/** The workflow runs on code of a release that does not know this query. */
export const isUnknownQuestion = (error: unknown): boolean =>
  error instanceof NotAnswered && error.cause instanceof QueryNotRegisteredError;

/**
 * A query was not answered in time, or not understood. That says nothing about the server, nor about what the workflow
 * holds.
 */
class NotAnswered extends Error {
  constructor(workflowId: string, cause: unknown) {
    super(`${workflowId} does not say what it has: ${(cause as Error).message}`, { cause });
    this.name = 'NotAnswered';
  }
}

/**
 * Asks workflows what they hold. Start and signal times are no proof when a server has lost its last moments. A query
 * wakes a sleeping workflow, so the answer is cached until the history changes.
 */
export class Holdings {
  readonly #temporal: Client;
  readonly #known = new LRUCache<string, { state: string; held: Set<string> }>({ max: REMEMBERED });

  constructor(temporal: Client) {
    this.#temporal = temporal;
  }

  /** Which of these ids the newest run of a workflow does not hold; its status when it does not run. */
  async of(workflowId: string, ids: readonly string[]): Promise<Held> {
    const described = await this.#describe(workflowId);
    if (described.status !== 'RUNNING') {
      this.#known.delete(workflowId);
      return { status: described.status, closedAt: described.closedAt };
    }
    const known = this.#known.get(workflowId);
    const held = known?.state === described.state ? known.held : new Set<string>();
    const unknown = ids.filter((id) => !held.has(id));
    if (unknown.length > 0) {
      const answered = await this.#ask(workflowId, unknown).catch(async (error: Error) => {
        // after a rollback, older code stops at what newer code did
        if (!(await isStuck(this.#temporal, workflowId))) throw error;
        return null;
      });
      if (answered === null) {
        await startOver(this.#temporal, workflowId, STUCK);
        return { status: 'TERMINATED', closedAt: null };
      }
      for (const id of answered) held.add(id);
    }
    this.#known.set(workflowId, { state: described.state, held });
    return { status: 'RUNNING', missing: ids.filter((id) => !held.has(id)) };
  }

  /** When the first run of a workflow began. Null when it continued as new, because that carries over what it holds. */
  async beganAt(workflowId: string): Promise<Date | null> {
    const { raw, runId, startTime } = await this.#temporal.withDeadline(Date.now() + CALL_MS, () =>
      this.#temporal.workflow.getHandle(workflowId).describe(),
    );
    return raw.workflowExecutionInfo?.firstRunId === runId ? startTime : null;
  }

  async #describe(workflowId: string) {
    const handle = this.#temporal.workflow.getHandle(workflowId);
    try {
      const { status, runId, historyLength, historySize, raw, closeTime } = await this.#temporal.withDeadline(
        Date.now() + CALL_MS,
        () => handle.describe(),
      );
      // two histories of a chat that agree in all of these would have the same signals in the same order
      const state = [runId, historyLength, historySize, raw.workflowExecutionInfo?.stateTransitionCount].join('/');
      return { status: status.name, state, closedAt: closeTime ?? null };
    } catch (error) {
      if (error instanceof WorkflowNotFoundError) return { status: 'GONE' as const, state: '', closedAt: null };
      throw error;
    }
  }

  async #ask(workflowId: string, ids: string[]): Promise<string[]> {
    const handle = this.#temporal.workflow.getHandle(workflowId);
    try {
      return await this.#temporal.withDeadline(Date.now() + QUERY_MS, () =>
        handle.query<string[], [string[]]>(holdsQuery, ids),
      );
    } catch (error) {
      throw new NotAnswered(workflowId, error);
    }
  }
}
