import { toWhatsApp } from './markup.ts';
import { cutText } from './split.ts';

/** What formatting did, under the names that `responseFormattingMetrics` shows. */
interface FormattingCounters {
  /** Replies whose markup differs from their markdown. */
  normalizedCount: number;
  /** Replies that became more than one message. */
  chunkedCount: number;
  /** Cuts that found no paragraph to cut at. */
  fallbackSplitCount: number;
}

/**
 * The messages of a reply, each at most `limit` UTF-16 units, with the counters of this reply alone. A blank reply has
 * no messages.
 */
export function formatReply(markdown: string, limit: number): { parts: string[]; counters: FormattingCounters } {
  const markup = toWhatsApp(markdown);
  const cut = cutText(markup, limit);
  // WhatsApp refuses a message without a visible character
  const parts = cut.parts.filter((part) => part.trim() !== '');
  return {
    parts,
    counters: {
      normalizedCount: markup === markdown ? 0 : 1,
      chunkedCount: parts.length > 1 ? 1 : 0,
      fallbackSplitCount: cut.fallbacks,
    },
  };
}
