import type { Selectable } from 'kysely';
import type { CallVerdict, ThinkInput, ThinkResult } from '../../../contracts/conversation.ts';
import { stepKey } from '../../../contracts/ids.ts';
import type { CallTaint } from '../../../contracts/taint.ts';
import type { CallItemKind } from '../../../domain/chat/tool-families.ts';
import type { KindInProject } from '../../../domain/consent/kinds.ts';
import { policyJudged, policyOf } from '../../../domain/consent/policy.ts';
import { derivedId } from '../../chats/ids.ts';
import { type ItemRow, itemRow } from '../../chats/threads/items.ts';
import type { CallTable, KindOfCall } from '../../schema/tables/turns.ts';

/** A checked call of the model. `refused` calls have their error as the result. */
export interface CheckedCall {
  providerId: string;
  args: Record<string, unknown>;
  verdict: Omit<CallVerdict, 'callId'>;
  /** how the tool's calls are shown; an ordinary tool call when unset */
  item?: CallItemKind;
  refusal?: string;
  /** the words of a person are this call, so that only what asks each time asks */
  commanded?: boolean;
  /** for a call with a sink: what its turn had read, and which effects need a yes because of it */
  taint?: CallTaint | null;
  /** its kind in its project, with what a judge said of it */
  kind?: KindOfCall | null;
}

export const callIdOf = (turnId: string, step: number, position: number): string =>
  derivedId('call_', stepKey(turnId, step), position);

/** The autonomy at the moment the answer is stored. */
export type Trust = Pick<ThinkResult, 'autonomy' | 'autoApprove'>;

export interface NewCall {
  verdict: CallVerdict;
  row: Omit<Selectable<CallTable>, 'metadata'>;
  /** what the step adds, open */
  item: ItemRow;
  refusal: string | undefined;
}

export function newCall(
  { turnId, threadId, step }: ThinkInput,
  call: CheckedCall,
  position: number,
  trust: Trust,
  allows: (kind: KindInProject) => boolean = () => false,
): NewCall {
  const id = callIdOf(turnId, step, position);
  const itemId = derivedId('item_', id);
  const { name, danger, effect } = call.verdict;
  const detail = JSON.stringify(call.args);
  const refused = call.refusal !== undefined;
  const policy = policyJudged(
    policyOf(call.verdict, trust.autonomy, trust.autoApprove || call.commanded === true, call.taint),
    trust.autonomy,
    call.kind?.judged,
    call.kind ? allows(call.kind) : false,
  );
  return {
    verdict: { ...call.verdict, callId: id, policy },
    row: {
      id,
      provider_id: call.providerId,
      turn_id: turnId,
      thread_id: threadId,
      item_id: itemId,
      copied_from: null,
      step,
      position,
      name,
      args: call.args,
      danger,
      effect,
      policy,
      state: refused ? 'done' : 'pending',
      ok: refused ? false : null,
      output: call.refusal ?? null,
      sources: refused ? [] : null,
      taint: call.taint ?? null,
      kind: call.kind ?? null,
      started_at: null,
      ended_at: refused ? new Date() : null,
    },
    item: itemRow({
      id: itemId,
      turnId,
      threadId,
      kind: call.item ?? 'tool_call',
      status: 'in_progress',
      summary: `${name} started`,
      detail,
    }),
    refusal: call.refusal,
  };
}
