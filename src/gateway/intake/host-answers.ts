import type { DecidedBy } from '../../contracts/decision.ts';
import { mayApprove, mayTrust } from '../../domain/consent/policy.ts';
import { egressVerdict, isAllowing } from '../../domain/tasks/egress.ts';
import type { ThreadTransaction } from '../../store/chats/thread-transaction.ts';
import { settleHosts } from '../../store/kennel/questions/egress-questions.ts';
import { answerQuestion } from '../../store/turns/questions/decide.ts';
import type { Question } from '../../store/turns/questions/questions.ts';
import type { Approver } from './message.ts';

/** Who answers. */
export interface Answerer {
  by: DecidedBy;
  approver?: Approver;
}

/** How a question about hosts is answered. */
export const howToAnswerHosts = ({ options }: Pick<Question, 'options'>): string =>
  `Answer with ${options.slice(0, -1).join(', ')} or ${options.at(-1)}.`;

/**
 * Answers a question about hosts, and stores the rules with it. `unclear`: the words are no verdict. `reply`: this
 * person may not give it.
 */
export async function answerHosts(
  tx: ThreadTransaction,
  question: Question,
  answer: string,
  { by, approver }: Answerer,
): Promise<'answered' | 'unclear' | { reply: string }> {
  const verdict = egressVerdict(answer);
  if (verdict === null) return 'unclear';
  if ((verdict === 'project' || verdict === 'never') && !mayTrust(by))
    return { reply: 'Only the owner can decide for the whole project. Say once, this task or no.' };
  if (approver && isAllowing(verdict) && !mayApprove('DANGEROUS', await approver(tx.now, question.turn_id)))
    return { reply: 'Only the owner, or the person who asked for this, may allow it. It waits for one of them.' };
  await settleHosts(tx.now, question, { answer, by });
  await answerQuestion(tx, question, answer, by);
  return 'answered';
}
