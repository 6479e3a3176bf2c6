import { z } from 'zod';
import type { OwnerChat, OwnerQuestion } from '../../../contracts/owner.ts';
import { egressVerdict } from '../../../domain/tasks/egress.ts';
import { argumentsEvidence } from '../../../domain/text/evidence.ts';
import { prefix } from '../../../domain/text/storable.ts';
import { english } from '../../../domain/texts/say.ts';
import { isAboutHosts } from '../../../store/kennel/questions/egress-questions.ts';
import type { WaitingRow } from '../../../store/owner/views/now.ts';
import { count, type Fields, time } from '../../http/endpoint.ts';
import { chatFields } from '../shared.ts';

const answerFields = z.object({
  method: z.literal('POST'),
  path: z.string(),
  choices: z.array(
    z.object({
      label: z.string(),
      description: z.string(),
      body: z.record(z.string(), z.unknown()),
      kind: z.enum(['yes', 'no', 'other']),
    } satisfies Fields<OwnerQuestion['answer']['choices'][number]>),
  ),
  words: z
    .object({ answers: z.tuple([z.object({ id: z.string(), label: z.string(), value: z.string() })]) })
    .nullable()
    .describe('Own words are an answer, too: they are the `value`'),
} satisfies Fields<OwnerQuestion['answer']>);

export const questionFields = z
  .object({
    id: z.string(),
    kind: z.enum(['question', 'approval', 'plan', 'hosts', 'setup']),
    chat: chatFields,
    task: z.object({ id: z.string(), goal: z.string(), workspace: z.string() }).nullable(),
    prompt: z.string(),
    evidence: z.string().nullable().describe('The command, difference, plan or arguments that a yes counts for'),
    evidence_rest: count().describe('Characters of the evidence that are not here'),
    tool: z.string().nullable(),
    tainted: z.boolean().describe('Text of others may have caused it'),
    asked_at: time(),
    delivered_at: time().nullable(),
    answer: answerFields,
  } satisfies Fields<OwnerQuestion>)
  .meta({ id: 'OwnerQuestion' });

/** `shown`: characters of the evidence that are passed on. */
export function questionView(row: WaitingRow, chat: OwnerChat, shown: number): OwnerQuestion {
  const kind = kindOf(row);
  // an approval from before evidence was stored is decided by its arguments
  const whole = (row.evidence ?? (row.kind === 'approval' && row.args ? argumentsEvidence(row.args) : '')) || null;
  const evidence = whole === null ? null : prefix(whole, shown);
  return {
    id: row.id,
    kind,
    chat,
    task:
      row.task_id === null || row.goal === null
        ? null
        : { id: row.task_id, goal: row.goal, workspace: row.workspace ?? '' },
    prompt: row.prompt,
    evidence,
    evidence_rest: (whole?.length ?? 0) - (evidence?.length ?? 0),
    tool: row.tool ?? (row.task_id !== null && row.kind === 'approval' ? 'coding_task' : null),
    tainted: (row.taint?.asks.length ?? 0) > 0,
    asked_at: row.asked_at.toISOString(),
    delivered_at: row.delivered_at?.toISOString() ?? null,
    answer: answerOf(row, kind, evidence?.length ?? 0),
  };
}

function kindOf(row: WaitingRow): OwnerQuestion['kind'] {
  if (row.kind === 'question') return isAboutHosts(row) ? 'hosts' : 'question';
  return row.setup ? 'setup' : row.kind;
}

/**
 * How it is answered, so that a page only sends on what it gets. `seen`: a yes says how much of the evidence its giver
 * had before them.
 */
function answerOf(row: WaitingRow, kind: OwnerQuestion['kind'], seen: number): OwnerQuestion['answer'] {
  const { id, thread_id, options } = row;
  const said = (value: string, label: string) => ({
    answers: [{ id, label, value }] as [{ id: string; label: string; value: string }],
  });
  const words = said('', '');
  if (row.kind === 'question') {
    const choices = options.map((option) => ({
      label: option,
      description: '',
      body: said(option, option),
      kind: kind !== 'hosts' ? ('other' as const) : egressVerdict(option) === 'no' ? ('no' as const) : ('yes' as const),
    }));
    if (kind === 'hosts')
      choices.push({ label: 'never', description: english('hosts.answer'), body: said('never', 'never'), kind: 'no' });
    return {
      method: 'POST',
      path: `/v1/user-input/${thread_id}/${id}`,
      choices,
      words: kind === 'hosts' ? null : words,
    };
  }
  const path = row.kind === 'plan' ? `/v1/user-input/${thread_id}/${id}` : `/v1/approvals/${id}`;
  if (row.kind === 'plan') {
    const choices = [
      { label: 'yes', description: 'the work begins', body: { ...said('yes', 'yes'), seen }, kind: 'yes' as const },
      {
        label: 'no',
        description: 'the task ends, and nothing is changed',
        body: said('no', 'no'),
        kind: 'no' as const,
      },
    ];
    return { method: 'POST', path, choices, words };
  }
  // text of others may be behind these, a build reaches the network, and money is spent: a yes to all that follows does not
  // cover them
  const each = kind === 'setup' || row.budget !== null || (row.taint?.asks.length ?? 0) > 0;
  const choices = [
    { label: 'yes', description: 'this one', body: { decision: 'allow', seen }, kind: 'yes' as const },
    { label: 'no', description: 'it is not done', body: { decision: 'deny' }, kind: 'no' as const },
    ...(each
      ? []
      : [
          {
            label: 'yes all',
            description: 'this and what follows in this chat',
            body: { decision: 'allow', remember: true, seen },
            kind: 'yes' as const,
          },
        ]),
  ];
  return { method: 'POST', path, choices, words: null };
}
