/**
 * Names of workflow types, signals, queries and search attributes, for both sides. Their definitions need Temporal's
 * workflow package and are in
 * `src/workflows`.
 */
export const CONVERSATION = 'conversation';
export const ROUTINE = 'routine';
export const CODING_TASK = 'codingTask';
export const REMINDER = 'reminder';
export const SHIPMENT = 'shipment';
export const BASELINE = 'baseline';
export const arrivalSignal = 'arrived';
/** Signal of a check of a project: it is wanted once more. */
export const wantedSignal = 'wanted';
export const viewQuery = 'view';
/**
 * Query of a conversation, of a coding task and of a shipment: which of the given ids (turns, inbox and outbox rows, questions,
 * orders) it holds.
 */
export const holdsQuery = 'holds';
/** Carries nothing. A conversation that sleeps on an old build continues as new on the current one. */
export const wakeSignal = 'wake';
export const AGENT_PHASE = 'AgentPhase';
export const CHAT_CHANNEL = 'ChatChannel';
/** when the phase began */
export const AGENT_SINCE = 'AgentSince';
/** money spent by the chat so far, or by the task */
export const SPEND_MICRO_USD = 'SpendMicroUsd';
export const AGENT_THREAD = 'AgentThread';
/** the kind alone: `question`, `approval`, `workspace`, `resume` or `limit` */
export const AGENT_WAITS_FOR = 'AgentWaitsFor';
/** Signals of a coding task: its open question was decided; the workspace that it waits for may be free. */
export const decidedSignal = 'decided';
/** `cancel`, `pause` or `resume`, from a word in the chat. The updates below do the same, and wait until it is done. */
export const orderedSignal = 'ordered';
export const workspaceFreeSignal = 'workspaceFree';
/** Updates of a coding task. Each returns when the change is in effect. */
export const cancelUpdate = 'cancel';
export const pauseUpdate = 'pause';
export const resumeUpdate = 'resume';
