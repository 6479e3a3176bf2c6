import type { Model } from '../../../adapters/model/model.ts';
import type { StepUsage } from '../../../contracts/conversation.ts';
import {
  type Action,
  JUDGE_INSTRUCTION,
  type Judged,
  judgeText,
  mayJudge,
  saysRun,
} from '../../../domain/consent/judge.ts';
import { kindOf } from '../../../domain/consent/kinds.ts';
import { policyOf } from '../../../domain/consent/policy.ts';
import { costOf } from '../../../domain/model/price-book.ts';
import type { Db } from '../../../store/postgres/database.ts';
import { rulesOf } from '../../../store/turns/steps/kinds.ts';
import type { CheckedCall } from '../../../store/turns/steps/new-calls.ts';
import type { StepSubject } from '../../../store/turns/steps/step-subject.ts';
import { tools } from '../../../tools/registry.ts';
import { placeOf } from '../approval.ts';

/** What judging has cost. */
export interface Judging {
  calls: CheckedCall[];
  spent: StepUsage;
}

interface Judge {
  db: Db;
  model: Pick<Model, 'kind' | 'complete' | 'prices'>;
  subject: Pick<StepSubject, 'chatId' | 'judge'>;
  /** the words of the person in this turn */
  goal: readonly string[];
  signal: AbortSignal;
  requestId: string;
}

/** A judge that does not answer in time has not said run. */
const PATIENCE_MS = 60_000;
/** Room for thoughts before the word. */
const MOST_TOKENS = 2_000;

/**
 * Stores with each call that a cautious chat asks about what kind of action it is; and in a judged chat, for a kind that
 * the owner allows, what the judge says of it.
 */
export async function judgeCalls(judge: Judge, calls: readonly CheckedCall[]): Promise<Judging> {
  const spent: StepUsage = { inputTokens: 0, outputTokens: 0, microUsd: 0 };
  const { db, subject } = judge;
  const asked = calls.map(
    ({ verdict, refusal, taint, commanded }) =>
      refusal === undefined && policyOf(verdict, 'cautious', commanded === true, taint) === 'ask',
  );
  if (!asked.includes(true)) return { calls: [...calls], spent };
  const allows = subject.judge === undefined ? () => false : await rulesOf(db, subject.chatId);
  const all: CheckedCall[] = [];
  for (const [at, call] of calls.entries()) {
    const kind = asked[at] ? await kindInProject(db, subject.chatId, call) : null;
    if (!kind) {
      all.push(call);
      continue;
    }
    const action = { name: call.verdict.name, args: call.args, kind, taint: call.taint ?? null, goal: judge.goal };
    const judged = allows(kind) ? await judgedBy(judge, action, at, spent) : undefined;
    all.push({ ...call, kind: { ...kind, ...(judged && { judged }) } });
  }
  return { calls: all, spent };
}

async function kindInProject(db: Db, chatId: string, { verdict, args }: CheckedCall) {
  const tool = tools.get(verdict.name);
  const kind = tool && kindOf(tool.name, args);
  const place = kind ? await placeOf(db, chatId, args, tool) : null;
  // the same name on two machines may be two projects
  return kind && place?.hosts.length === 1 ? { ...kind, workspace: place.name, host: place.hosts[0]! } : null;
}

async function judgedBy(
  { model, subject, signal, requestId }: Judge,
  action: Action,
  at: number,
  spent: StepUsage,
): Promise<Judged> {
  if (!mayJudge(action)) return { says: 'ask', by: 'rules' };
  const name = subject.judge ?? null;
  if (name === null || model.kind === 'practice') return { says: 'run', by: 'rules' };
  try {
    const answer = await model.complete({
      model: name,
      messages: [
        { role: 'system', content: JUDGE_INSTRUCTION },
        { role: 'user', content: judgeText(action) },
      ],
      tools: [],
      signal: AbortSignal.any([signal, AbortSignal.timeout(PATIENCE_MS)]),
      onDelta: () => {},
      maxTokens: MOST_TOKENS,
      requestId: `${requestId}-judge${at}`,
    });
    const { microUsd, unpriced } = costOf([answer.model, name], answer.usage, model.prices);
    spent.inputTokens += answer.usage.inputTokens;
    spent.outputTokens += answer.usage.outputTokens;
    spent.microUsd += microUsd;
    if (unpriced > 0) spent.unpriced = (spent.unpriced ?? 0) + unpriced;
    return { says: saysRun(answer.text) ? 'run' : 'ask', by: 'model' };
  } catch (error) {
    if (signal.aborted) throw error;
    return { says: 'ask', by: 'model' };
  }
}
