import type { ThinkInput, ThinkResult } from '../../../contracts/conversation.ts';
import { stepKey } from '../../../contracts/ids.ts';
import { endedText } from '../../../domain/model/budget-texts.ts';
import {
  type BudgetFacts,
  budgetsOf,
  type Mark,
  nearlyUsedUp,
  usedUp,
  withMore,
} from '../../../domain/model/spending.ts';
import { languageOf } from '../../../domain/texts/language.ts';
import { type Say, sayIn } from '../../../domain/texts/say.ts';
import { signalArrival } from '../../../gateway/intake/signal.ts';
import { derivedId } from '../../../store/chats/ids.ts';
import { askAtLimit, tellNearLimit } from '../../../store/turns/questions/budget-questions.ts';
import type { StepSubject } from '../../../store/turns/steps/step-subject.ts';
import { storeAnswer } from '../../../store/turns/steps/steps.ts';
import type { History } from '../../../store/turns/steps/transcript.ts';
import type { ActivityDeps } from '../../activity-deps.ts';

type Deps = Pick<ActivityDeps, 'db' | 'config' | 'temporal'>;

/** The budget of a turn that is used up, or null. */
export const turnMark = ({ config }: Pick<ActivityDeps, 'config'>, { budgets }: StepSubject): Mark | null =>
  usedUp(budgetsOf('turn', budgets, config));

/** Asks whether the turn may go on, or ends it with what is known when that was refused. */
export async function stopAtLimit(
  deps: Deps,
  input: ThinkInput,
  { subject, history, mark, model }: { subject: StepSubject; history: History; mark: Mark; model: string },
): Promise<ThinkResult> {
  const { turnId, threadId } = input;
  const { account, cron } = subject.budgets;
  const asker = {
    id: turnId,
    threadId,
    turnId,
    account,
    waits: cron && mark.budget.level !== 'schedule' ? (say: Say) => say('budget.waits', { name: cron.name }) : null,
  };
  const asked = await askAtLimit(deps.db, asker, mark);
  const usage = { inputTokens: 0, outputTokens: 0, microUsd: 0 };
  if (asked.state === 'refused')
    return await storeAnswer(deps.db, input, subject, {
      text: '',
      note: endedText(saidIn(history), sayIn(languageOf(subject.preferences))),
      calls: [],
      model,
      usage,
      readUpto: history.messages.at(-1)?.ord ?? history.upto,
      item: { id: derivedId('item_', stepKey(turnId, input.step), 'end'), begun: false, rest: '' },
    });
  // if the signal fails, the sweeper finds the row
  if (asked.told) await signalArrival(deps, asked.told).catch(() => {});
  return {
    next: 'asks',
    asks: { questionId: asked.questionId, opensAt: asked.opensAt },
    calls: [],
    autonomy: subject.autonomy,
    autoApprove: false,
    usage,
  };
}

/** The last text of the model in this turn. */
function saidIn({ messages, openFrom }: History): string | null {
  const said = messages.findLast(
    ({ role, content, ord }) => role === 'assistant' && content.trim() !== '' && (openFrom === null || ord >= openFrom),
  );
  return said?.content.trim() ?? null;
}

/** Says after a step that most of a budget is used. A failure to tell does not fail the step. */
export async function tellAfterStep(deps: Deps, subject: StepSubject, result: ThinkResult): Promise<void> {
  const { inputTokens, outputTokens, microUsd, unpriced } = result.usage;
  const more = { tokens: inputTokens + outputTokens, microUsd, unpriced: unpriced ?? 0 };
  // with a next step, one that is used up is asked about at once
  const near = nearlyUsedUp(withMore(budgetsOf('turn', subject.budgets, deps.config), more), {
    orMore: result.next === 'closed',
  });
  await tellNear(deps, subject.budgets, near);
}

/** Says in the chat that pays that most of these budgets is used, once for each of them and period. */
export async function tellNear(deps: Deps, { account }: Pick<BudgetFacts, 'account'>, near: Mark[]): Promise<void> {
  for (const mark of near) {
    const told = await tellNearLimit(deps.db, account, mark).catch(() => null);
    if (told) await signalArrival(deps, told).catch(() => {});
  }
}
