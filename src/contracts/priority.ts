/**
 * Of routine runs, by hand or by schedule, and of the coding tasks that they start, which share a queue with people's:
 * a worker gets their tasks when no others wait. Conversations have no priority, which the server takes as 3: they live
 * for ever, and the priority of a workflow cannot be changed while it runs.
 */
export const BACKGROUND_PRIORITY = { priorityKey: 5 };
