import { z } from 'zod';

/**
 * Request bodies. Unknown fields are ignored; `null` means "not given" for an optional field. Each lists all fields of
 * the contract, also unused ones, so that a wrong type is refused where clients expect it.
 */

const text = () => z.string().nullish();
const flag = () => z.boolean().nullish();

const seen = () =>
  z
    .int()
    .nonnegative()
    .max(2 ** 31 - 1)
    .optional()
    .describe('Characters of the evidence that the person was shown: a yes to more than that is refused');

export const createThreadRequest = z
  .object({
    model: text(),
    workspace: text(),
    mode: text(),
    allow_shell: flag(),
    trust_mode: flag(),
    auto_approve: flag(),
    // the only flag that may be absent but not null
    archived: z.boolean().default(false),
    system_prompt: text(),
    task_id: text(),
  })
  .meta({ id: 'CreateThreadRequest', examples: [{}, { mode: 'plan', allow_shell: false }] });

/** What it leaves out stays as it is. */
export const updateThreadRequest = z
  .object({
    archived: flag(),
    allow_shell: flag(),
    trust_mode: flag(),
    auto_approve: flag(),
    model: text(),
    mode: text(),
    title: text().describe('An empty one is taken away'),
    system_prompt: text().describe('An empty one is taken away'),
    workspace: text(),
  })
  .meta({ id: 'UpdateThreadRequest', examples: [{ title: 'Release 1.2' }, { archived: true }] });

export const startTurnRequest = z
  .object({
    prompt: z.string(),
    input_summary: text(),
    model: text(),
    mode: text(),
    allow_shell: flag(),
    trust_mode: flag(),
    auto_approve: flag(),
  })
  .meta({ id: 'StartTurnRequest', examples: [{ prompt: 'What is in the demo project?' }] });

export const steerTurnRequest = z
  .object({ prompt: z.string() })
  .meta({ id: 'SteerTurnRequest', examples: [{ prompt: 'Only the tests, please' }] });

export const compactThreadRequest = z
  .object({ reason: text().describe('What the turn is called') })
  .meta({ id: 'CompactThreadRequest', examples: [{}, { reason: 'The release is done' }] });

const depth = () =>
  z.int().min(0).max(1_000_000).nullish().describe('How many later messages go as well; 0 when left out');

export const undoRequest = z.object({ depth: depth() }).meta({ id: 'UndoRequest', examples: [{}, { depth: 1 }] });

export const retryRequest = z
  .object({ depth: depth(), prompt: text().describe('What is said in its place') })
  .meta({ id: 'RetryRequest', examples: [{}, { prompt: 'Only the tests, please' }] });

export const shipRequest = z
  .object({
    action: z.enum(['start', 'status', 'merge', 'stop']).nullish(),
    title: z.string().max(150).nullish(),
    merge: z.enum(['ask', 'green']).nullish().describe('green: merged by itself when all is green'),
    workspace: z.string().max(100).nullish().describe('The active one when left out'),
  })
  .meta({ id: 'ShipRequest', examples: [{}, { title: 'Add a login', merge: 'green' }] });

export const createSessionRequest = z
  .object({ thread_id: z.string(), title: text().describe('Becomes the title of the thread') })
  .meta({ id: 'CreateSessionRequest', examples: [{ thread_id: 'thr_0123456789abcdef', title: 'Release 1.2' }] });

export const resumeSessionRequest = z
  .object({ model: text(), mode: text() })
  .meta({ id: 'ResumeSessionRequest', examples: [{}, { mode: 'plan' }] });

export const streamTurnRequest = z
  .object({
    prompt: z.string(),
    model: text(),
    mode: text(),
    workspace: text(),
    allow_shell: flag(),
    trust_mode: flag(),
    auto_approve: flag(),
  })
  .meta({ id: 'StreamTurnRequest', examples: [{ prompt: 'What is in the demo project?' }] });

export const messageRequest = z
  .object({
    text: z.string(),
    quoted: z
      .array(z.object({ name: z.string().max(1_000), text: z.string() }))
      .max(50)
      .optional()
      .describe('Texts that come with the message, such as files, and are not the words of the person'),
    displayed: z
      .array(z.object({ id: z.string(), ms: z.number().nonnegative() }))
      .max(100)
      .optional()
      .describe(
        "Open questions that the person's screen shows, and for how long it has: a bare yes counts for those only",
      ),
    attachment_ids: z
      .array(z.string())
      .optional()
      .describe('Files that were uploaded to the thread; with them the text may be empty'),
  })
  .meta({ id: 'MessageRequest', examples: [{ text: 'yes', displayed: [{ id: 'q_1', ms: 2500 }] }] });

export const approvalDecisionRequest = z
  .object({ decision: z.string().describe('allow or deny'), remember: z.boolean().default(false), seen: seen() })
  .meta({ id: 'ApprovalDecisionRequest', examples: [{ decision: 'allow' }] });

export const skillRequest = z
  .object({ enabled: z.boolean() })
  .meta({ id: 'SetSkillEnabledRequest', examples: [{ enabled: false }] });

export const userInputRequest = z
  .object({ answers: z.array(z.object({ id: z.string(), label: z.string(), value: z.string() })), seen: seen() })
  .meta({ id: 'UserInputRequest', examples: [{ answers: [{ id: 'q_1', label: 'Red', value: 'Red' }] }] });

/** A blank setting counts as not given. */
export const given = (value: string | null | undefined): string | undefined => value?.trim() || undefined;
