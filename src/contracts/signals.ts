/** Names of workflow types, signals, queries and search attributes: one place for both sides. Definitions need the sandbox's package and live in workflows. */
export const CONVERSATION = 'conversation';
export const ROUTINE = 'routine';
export const CODING_TASK = 'codingTask';
export const arrivalSignal = 'arrived';
export const viewQuery = 'view';
/** Query of a conversation and of a coding task: which of these ids (turns, inbox and outbox rows, questions, orders) it holds. */
export const holdsQuery = 'holds';
/** Says nothing: a conversation that sleeps on an old build continues as new on the current one. */
export const wakeSignal = 'wake';
export const AGENT_PHASE = 'AgentPhase';
export const CHAT_CHANNEL = 'ChatChannel';
/** money of the chat's life, or of the task */
export const SPEND_MICRO_USD = 'SpendMicroUsd';
export const AGENT_THREAD = 'AgentThread';
/** `question`, `approval`, `workspace` or `resume`: the kind alone */
export const AGENT_WAITS_FOR = 'AgentWaitsFor';
/** Signals of a coding task: a decision on its open question; the workspace that it waits for may be free. */
export const decidedSignal = 'decided';
/** `cancel`, `pause` or `resume`, from a word in the chat; the updates below do the same and wait for it */
export const orderedSignal = 'ordered';
export const workspaceFreeSignal = 'workspaceFree';
/** Updates of a coding task; each returns when what it says is so. */
export const cancelUpdate = 'cancel';
export const pauseUpdate = 'pause';
export const resumeUpdate = 'resume';
