import { remember, remembered } from '../shared/theme.ts';

/** What is written and not sent yet stays in this browser, for each chat. */
const keyOf = (threadId: string): string => `fetch-draft-${threadId}`;

export const draftOf = (threadId: string): string => remembered(keyOf(threadId)) ?? '';
export const keepDraft = (threadId: string, text: string): void => remember(keyOf(threadId), text);
