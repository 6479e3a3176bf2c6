import type { ItemRecord, ThreadRecord, TurnRecord } from '../../src/contracts/records.ts';
import { until } from './until.ts';

export interface Detail {
  thread: ThreadRecord;
  turns: TurnRecord[];
  items: ItemRecord[];
  latest_seq: number;
  pending_approvals: Array<{ id: string }>;
  pending_user_inputs: Array<{ id: string; request: { questions: Array<{ question: string }> } }>;
}

type Request = (
  method: string,
  path: string,
  body?: unknown,
  headers?: Record<string, string>,
) => Promise<{ status: number; body: unknown }>;

/** What a test asks of the runtime API. */
export interface ApiCalls {
  request: Request;
  thread(fields?: Record<string, unknown>): Promise<string>;
  /** starts a turn whose model steps are scripted; returns its id */
  turn(threadId: string, script: unknown[] | string, key?: string): Promise<string>;
  say(threadId: string, text: string, key?: string): Promise<{ kind: string; turn_id: string | null }>;
  detail(threadId: string): Promise<Detail>;
  /** waits until a turn has ended */
  ended(threadId: string, turnId: string, ms?: number): Promise<TurnRecord>;
}

export const script = (steps: unknown[]): string => `SCRIPT:${JSON.stringify(steps)}`;

/**
 * A message that makes the scripted model call these tools, one after the other, and then say `end` (`$LAST` is the
 * last result). The model counts its steps by what the chat shows, where a result of something else may come in
 * between: so the end stands there for it, too.
 */
export const callsThen = (
  calls: ReadonlyArray<readonly [tool: string, args: Record<string, unknown>]>,
  end = '$LAST',
): string => script([...calls.map((call) => ({ call: [call] })), { say: end }, { say: end }, { say: end }]);

/** One request with the token of the tests; what is JSON is parsed. */
export async function requestAt(
  baseUrl: string,
  ...[method, path, body, headers = {}]: Parameters<Request>
): Promise<{ status: number; body: unknown }> {
  const response = await fetch(`${baseUrl}${path}`, {
    method,
    headers: {
      authorization: 'Bearer test-token',
      ...(body !== undefined && { 'content-type': 'application/json' }),
      ...headers,
    },
    ...(body !== undefined && { body: JSON.stringify(body) }),
  });
  const text = await response.text();
  return { status: response.status, body: text.startsWith('{') || text.startsWith('[') ? JSON.parse(text) : text };
}

export function apiCalls(request: Request): ApiCalls {
  const wanted = async (expected: number, ...args: Parameters<Request>): Promise<never> => {
    const answer = await request(...args);
    if (answer.status !== expected)
      throw new Error(`${args[0]} ${args[1]} answered ${answer.status}: ${JSON.stringify(answer.body)}`);
    return answer.body as never;
  };
  const keyed = (key: string | undefined): Record<string, string> => (key ? { 'idempotency-key': key } : {});
  const detail = (threadId: string): Promise<Detail> => wanted(200, 'GET', `/v1/threads/${threadId}`);
  return {
    request,
    thread: async (fields = {}) => ((await wanted(201, 'POST', '/v1/threads', fields)) as { id: string }).id,
    turn: async (threadId, steps, key) => {
      const prompt = typeof steps === 'string' ? steps : script(steps);
      const body: { turn: TurnRecord } = await wanted(
        201,
        'POST',
        `/v1/threads/${threadId}/turns`,
        { prompt },
        keyed(key),
      );
      return body.turn.id;
    },
    say: (threadId, text, key) => wanted(202, 'POST', `/v1/threads/${threadId}/messages`, { text }, keyed(key)),
    detail,
    ended: (threadId, turnId, ms = 60_000) =>
      until(
        `turn ${turnId} has ended`,
        async () => {
          const turn = (await detail(threadId)).turns.find((each) => each.id === turnId);
          return turn && turn.status !== 'in_progress' ? turn : null;
        },
        ms,
      ),
  };
}
