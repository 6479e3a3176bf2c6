import { z } from 'zod';
import type { Shape } from '../http/body.ts';

/**
 * Request bodies. Unknown fields are ignored; `null` means "not given" where a field may be left out. Each lists all fields of the
 * contract, also those that we do not act on, so that a wrong type is refused where clients expect it.
 */

const text = () => z.string().nullish();
const flag = () => z.boolean().nullish();

export const createThread = {
  name: 'CreateThreadRequest',
  schema: z.object({
    model: text(),
    workspace: text(),
    mode: text(),
    allow_shell: flag(),
    trust_mode: flag(),
    auto_approve: flag(),
    // the one flag that may be left out but not be null
    archived: z.boolean().default(false),
    system_prompt: text(),
    task_id: text(),
  }),
} satisfies Shape;

export const startTurn = {
  name: 'StartTurnRequest',
  schema: z.object({
    prompt: z.string(),
    input_summary: text(),
    model: text(),
    mode: text(),
    allow_shell: flag(),
    trust_mode: flag(),
    auto_approve: flag(),
  }),
} satisfies Shape;

export const steerTurn = { name: 'SteerTurnRequest', schema: z.object({ prompt: z.string() }) } satisfies Shape;

export const message = {
  name: 'MessageRequest',
  schema: z.object({
    text: z.string(),
    displayed: z
      .array(z.object({ id: z.string(), ms: z.number().nonnegative() }))
      .max(100)
      .optional(),
  }),
} satisfies Shape;

export const approval = {
  name: 'ApprovalDecisionRequest',
  schema: z.object({ decision: z.string(), remember: z.boolean().default(false) }),
} satisfies Shape;

export const userInput = {
  name: 'UserInputRequest',
  schema: z.object({ answers: z.array(z.object({ id: z.string(), label: z.string(), value: z.string() })) }),
} satisfies Shape;

/** A blank setting counts as not given. */
export const given = (value: string | null | undefined): string | undefined => value?.trim() || undefined;
