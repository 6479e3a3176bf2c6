/** Names of workflow types, signals, queries and search attributes: one place for both sides. Definitions need the sandbox's package and live in workflows. */
export const CONVERSATION = 'conversation';
export const ROUTINE = 'routine';
export const arrivalSignal = 'arrived';
export const viewQuery = 'view';
export const AGENT_PHASE = 'AgentPhase';
